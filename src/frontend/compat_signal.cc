// Signals and text: DFT, STFT, MelWeightMatrix and TfIdfVectorizer.
//
// A Fourier transform of static length is a product with a constant matrix, real and imaginary parts side by side: [c
// n] times [c n, 2 m], c being 1 for real input and 2 for complex. A short-time transform gathers its frames first.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "frontend/importer.h"

namespace mcc::frontend {
namespace {

// The matrix that takes n samples of c parts to m frequencies.
Tensor fourier(Builder& builder, DType dtype, i64 c, i64 n, i64 m, bool inverse) {
  builder.reserve_constant({dtype, {c * n, 2 * m}}, "the matrix of the transform");
  Tensor matrix(TensorType{dtype, {c * n, 2 * m}});
  const double scale = inverse ? 1 / static_cast<double>(n) : 1, sign = inverse ? 1 : -1;
  for (i64 k = 0; k < m; k++)
    for (i64 i = 0; i < n; i++) {
      const double angle = sign * 2 * std::numbers::pi * static_cast<double>(i * k % n) / static_cast<double>(n);
      const double re = scale * std::cos(angle), im = scale * std::sin(angle);
      matrix.set(i * 2 * m + 2 * k, re);
      matrix.set(i * 2 * m + 2 * k + 1, im);
      if (c == 1) continue;
      matrix.set((n + i) * 2 * m + 2 * k, -im);
      matrix.set((n + i) * 2 * m + 2 * k + 1, re);
    }
  return matrix;
}

struct Transform {
  i64 axis = 1, length = 0;
  bool inverse = false, onesided = false;
};

// x[..., n at axis, ..., c] -> [..., m at axis, ..., 2]
ValueId transform(const OnnxCall& call, ValueId x, const Transform& t) {
  const Shape shape = call.builder.shape(x);
  const i64 rank = static_cast<i64>(shape.size()), c = shape.back(), n = shape[at(t.axis)];
  if (c != 1 && c != 2) fail("the last axis has extent {}, neither 1 (real) nor 2 (complex)", c);
  if (t.length < 1 || t.length > (1 << 24)) fail("the length is {}", t.length);
  if (t.onesided && (c == 2 || t.inverse)) fail("onesided is only possible for a transform of real numbers");
  const i64 m = t.onesided ? t.length / 2 + 1 : t.length;
  x = slice(call, x, t.axis, 0, std::min(n, t.length));
  if (t.length > n) {
    std::vector<i64> pads(at(2 * rank), 0);
    pads[at(rank + t.axis)] = t.length - n;
    x = call.emit1("Pad", {x}, make_attrs({{"pads", pads}, {"mode", std::string("constant")}, {"value", 0.0}}));
  }
  std::vector<i64> perm = range(rank);  // the axis last
  perm.erase(perm.begin() + t.axis);
  perm.push_back(t.axis);
  Shape rows(shape.begin(), shape.end() - 1);
  rows.erase(rows.begin() + t.axis);
  Shape flat = rows, spectrum = rows;
  flat.push_back(c * t.length);
  spectrum.push_back(m);
  spectrum.push_back(2);
  const ValueId matrix = call.constant(fourier(call.builder, call.builder.type(x).dtype, c, t.length, m, t.inverse));
  const ValueId product = call.emit1("MatMul", {call.reshape(call.transpose(x, perm), flat), matrix});
  std::vector<i64> back = range(rank);  // the frequencies lie before the last axis
  back.erase(back.begin() + rank - 2);
  back.insert(back.begin() + t.axis, rank - 2);
  return call.transpose(call.reshape(product, spectrum), back);
}

Outputs dft(OnnxCall& call) {
  const ValueId x = call.need(0, "input");
  Transform t;
  const i64 given = call.has(2) ? call.known_int(2, "axis") : call.attrs.get_int("axis", call.opset >= 20 ? -2 : 1);
  if (call.rank(0) < 2) fail("input {} has no axis for the parts of a number", to_string(call.shape(0)));
  t.axis = normalize_axis(given, call.rank(0));
  if (t.axis == call.rank(0) - 1) fail("axis {} is the one that holds the parts of a number", given);
  t.length = call.has(1) ? call.known_int(1, "dft_length") : call.shape(0)[at(t.axis)];
  t.inverse = call.attrs.get_int("inverse", 0) != 0;
  t.onesided = call.attrs.get_int("onesided", 0) != 0;
  return {transform(call, x, t)};
}

Outputs stft(OnnxCall& call) {
  ValueId signal = call.need(0, "signal");
  if (call.rank(0) == 2) signal = call.reshape(signal, {call.shape(0)[0], call.shape(0)[1], 1});
  if (call.builder.rank(signal) != 3) fail("the signal has rank {}, not 3", call.rank(0));
  const i64 step = call.known_int(1, "frame_step"), samples = call.shape(0)[1];
  if (call.has(2) && call.rank(2) != 1) fail("the window has rank {}, not 1", call.rank(2));
  i64 length = call.has(2) ? call.shape(2)[0] : 0;
  if (call.has(3)) length = call.known_int(3, "frame_length");
  if (step < 1 || length < 1 || length > samples)
    fail("frames of {} samples, {} apart, do not fit {} samples", length, step, samples);
  const i64 frames = (samples - length) / step + 1;
  call.builder.reserve_constant({DType::i64, {frames, length}}, "the list of frames");
  Tensor places(TensorType{DType::i64, {frames, length}});
  for (i64 f = 0; f < frames; f++)
    for (i64 i = 0; i < length; i++) places.set_int(f * length + i, f * step + i);
  ValueId framed = call.emit1("Gather", {signal, call.constant(places)}, make_attrs({{"axis", i64{1}}}));
  if (call.has(2)) framed = call.emit1("Mul", {framed, call.reshape(call.in[2], {length, 1})});
  const bool onesided = call.attrs.get_int("onesided", 1) != 0 && call.builder.shape(signal)[2] == 1;
  return {transform(call, framed, {2, length, false, onesided})};
}

// Triangular filters, evenly spaced on the mel scale.
Outputs mel_weight_matrix(OnnxCall& call) {
  const i64 bins = call.known_int(0, "num_mel_bins"), length = call.known_int(1, "dft_length"),
            rate = call.known_int(2, "sample_rate");
  if (bins < 1 || bins > (1 << 20) || length < 1 || length > (1 << 30) || rate < 1)
    fail("{} bins of a spectrum of {} samples at a rate of {}", bins, length, rate);
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel(call.known_number(3, "lower_edge_hertz")),
               high = mel(call.known_number(4, "upper_edge_hertz"));
  const i64 rows = length / 2 + 1;
  std::vector<i64> edges;
  for (i64 i = 0; i < bins + 2; i++) {
    const double at_mel = static_cast<double>(i) * (high - low) / static_cast<double>(bins + 2) + low;
    const double hertz = 700 * (std::pow(10, at_mel / 2595) - 1);
    const double edge = std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
    if (!(edge >= 0 && edge < static_cast<double>(rows)))
      fail("an edge lies at {}, outside {} frequencies", edge, rows);
    edges.push_back(static_cast<i64>(edge));
  }
  const i64 type = call.attrs.get_int("output_datatype", 1);
  if (type != 1) fail("output_datatype {} is not supported", type);
  call.builder.reserve_constant({DType::f32, {rows, bins}}, "the result");
  Tensor matrix(TensorType{DType::f32, {rows, bins}});
  for (i64 bin = 0; bin < bins; bin++) {
    const i64 first = edges[at(bin)], middle = edges[at(bin + 1)], last = edges[at(bin + 2)];
    const double rise = static_cast<double>(middle - first), fall = static_cast<double>(last - middle);
    if (rise == 0) matrix.set(middle * bins + bin, 1);
    for (i64 row = first; rise > 0 && row <= middle; row++)
      matrix.set(row * bins + bin, static_cast<double>(row - first) / rise);
    for (i64 row = middle; row < last; row++) matrix.set(row * bins + bin, static_cast<double>(last - row) / fall);
  }
  return {call.constant(std::move(matrix))};
}

// --- TfIdfVectorizer -------------------------------------------------------------------------------------------------

// How often each n-gram of the pool occurs in each row of x, in the pool's order.
ValueId count_all(const OnnxCall& call, ValueId x, i64 total) {
  const std::vector<i64> pool = call.attrs.get_ints("pool_int64s"), starts = call.attrs.get_ints("ngram_counts");
  const i64 least = call.attrs.get_int("min_gram_length"), most = call.attrs.get_int("max_gram_length");
  const i64 skips = std::min(call.attrs.get_int("max_skip_count", 0), call.builder.shape(x)[1]);
  const DType dtype = call.builder.type(x).dtype;
  std::vector<ValueId> parts;
  for (size_t k = 0; k < starts.size(); k++) {
    const i64 n = static_cast<i64>(k) + 1, end = k + 1 < starts.size() ? starts[k + 1] : static_cast<i64>(pool.size());
    if (starts[k] < 0 || end < starts[k] || end > static_cast<i64>(pool.size()) || (end - starts[k]) % n != 0)
      fail("ngram_counts [{}] do not fit a pool of {}", fmt::join(starts, ", "), pool.size());
    const i64 grams = (end - starts[k]) / n;
    if (grams == 0) continue;
    if (n < least || n > most) {
      parts.push_back(call.constant(Tensor(TensorType{DType::f32, {call.builder.shape(x)[0], grams}})));
      continue;
    }
    Tensor list(TensorType{dtype, {grams, n}});
    for (i64 i = 0; i < list.size(); i++) list.set_int(i, pool[at(starts[k] + i)]);
    parts.push_back(call.emit1("CountNgrams", {x, call.constant(list)}, make_attrs({{"skips", n == 1 ? 0 : skips}})));
  }
  if (parts.empty()) fail("the pool is empty");
  const ValueId counts = parts.size() == 1 ? parts[0] : call.emit1("Concat", parts, make_attrs({{"axis", i64{1}}}));
  if (call.builder.shape(counts)[1] != total)
    fail("the pool has {} n-grams, but ngram_indexes has {}", call.builder.shape(counts)[1], total);
  return counts;
}

Outputs tf_idf(OnnxCall& call) {
  ValueId x = call.need(0, "X");
  const bool is_list = call.rank(0) < 2;
  if (call.rank(0) > 2) fail("the input has rank {}, at most 2 is possible", call.rank(0));
  if (is_list) x = call.reshape(x, {1, elements(call.shape(0))});
  const std::vector<i64> columns = call.attrs.get_ints("ngram_indexes");
  const i64 total = static_cast<i64>(columns.size());
  if (total == 0) fail("the pool is empty");
  ValueId counts = count_all(call, x, total);
  const std::string mode = call.attrs.get_string("mode", "TF");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") fail("mode '{}' is not known", mode);
  if (mode == "IDF") counts = call.emit1("Min", {counts, call.scalar(DType::f32, 1)});
  const std::vector<double> weights = call.attrs.get_floats("weights", {});
  if (mode != "TF" && !weights.empty()) {
    if (static_cast<i64>(weights.size()) != total) fail("{} weights for {} n-grams", weights.size(), total);
    counts = call.emit1(
        "Mul", {counts, call.constant(Tensor::of<float>(DType::f32, {total}, {weights.begin(), weights.end()}))});
  }
  const i64 width = *std::max_element(columns.begin(), columns.end()) + 1;
  if (width < total || width > (1 << 24)) fail("ngram_indexes reach {} for {} n-grams", width - 1, total);
  Tensor from(TensorType{DType::i64, {width}});  // which n-gram a column counts; a column of zeros is behind them all
  for (i64 i = 0; i < width; i++) from.set_int(i, total);
  for (i64 i = 0; i < total; i++) {
    if (columns[at(i)] < 0 || from.get_int(columns[at(i)]) != total) fail("ngram_indexes has {} twice", columns[at(i)]);
    from.set_int(columns[at(i)], i);
  }
  counts = call.emit1(
      "Pad", {counts},
      make_attrs({{"pads", std::vector<i64>{0, 0, 0, 1}}, {"mode", std::string("constant")}, {"value", 0.0}}));
  const ValueId result = call.emit1("Gather", {counts, call.constant(from)}, make_attrs({{"axis", i64{1}}}));
  return {is_list ? call.reshape(result, {width}) : result};
}

constexpr OnnxOp kOps[] = {
    {"DFT", dft, "axis inverse onesided", "length and axis known"},
    {"STFT", stft, "onesided", "frame_step, frame_length known"},
    {"MelWeightMatrix", mel_weight_matrix, "output_datatype", "inputs known; f32 only"},
    {"TfIdfVectorizer", tf_idf,
     "max_gram_length max_skip_count min_gram_length mode ngram_counts ngram_indexes pool_int64s weights",
     "integers, no strings"},
};

}  // namespace

std::span<const OnnxOp> signal_imports() { return kOps; }

}  // namespace mcc::frontend
