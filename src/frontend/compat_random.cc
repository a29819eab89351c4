// Random numbers: RandomUniform, RandomNormal, their Like forms, and Multinomial (Bernoulli is defined by ONNX through
// RandomUniformLike). A compiled model gives the same outputs for the same inputs, so the numbers are drawn when it is
// compiled and are constants from then on (docs/OPS.md).
//
// The generator: number i of a node is the hash splitmix64(seed + (i + 1) * 0x9E3779B97F4A7C15), its upper 24 bits
// divided by 2^24. The seed is that of the node's attribute, as the bits of the float, or a hash of the node's name
// where there is none. A normal number takes two of them, by Box and Muller.
#include <bit>
#include <cmath>
#include <numbers>

#include "base/hash.h"
#include "frontend/importer.h"
#include "frontend/onnx_weights.h"

namespace mcc::frontend {
namespace {

class Generator {
 public:
  explicit Generator(u64 seed) : state_(seed) {}
  double next() {  // 0 <= next() < 1
    state_ += 0x9E3779B97F4A7C15;
    u64 z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return static_cast<double>((z ^ (z >> 31)) >> 40) * 0x1p-24;
  }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - next()));
    return radius * std::cos(2 * std::numbers::pi * next());
  }

 private:
  u64 state_;
};

Generator generator_of(const OnnxCall& call) {
  if (call.attrs.has("seed"))
    return Generator(std::bit_cast<std::uint32_t>(static_cast<float>(call.attrs.get_float("seed", 0))));
  return Generator(hash64(call.builder.unique(call.name + ":random")));  // another one in each iteration of a loop
}

Outputs random(OnnxCall& call) {
  const bool like = call.op.ends_with("Like"), normal = call.op.starts_with("RandomNormal");
  TensorType type{DType::f32, like ? call.shape(0) : Shape(call.attrs.get_ints("shape"))};
  if (like && is_float(call.dtype(0))) type.dtype = call.dtype(0);
  if (call.attrs.has("dtype")) type.dtype = dtype_from_onnx(call.attrs.get_int("dtype"), "attribute 'dtype'");
  for (const i64 extent : type.shape)
    if (extent < 0) fail("the shape has a negative dimension");
  call.builder.reserve_constant(type, "the result");
  Tensor tensor(type);
  Generator generator = generator_of(call);
  const double low = call.attrs.get_float("low", 0), high = call.attrs.get_float("high", 1);
  const double mean = call.attrs.get_float("mean", 0), spread = call.attrs.get_float("scale", 1);
  for (i64 i = 0; i < tensor.size(); i++)
    tensor.set(i, normal ? mean + spread * generator.normal() : low + (high - low) * generator.next());
  return {call.constant(std::move(tensor))};
}

// A class is drawn where a number falls among the running sums of the probabilities.
Outputs multinomial(OnnxCall& call) {
  const ValueId logits = call.need(0, "input");
  const i64 samples = call.attrs.get_int("sample_size", 1);
  if (call.rank(0) != 2 || call.shape(0)[1] < 1) fail("input {} is no list of distributions", to_string(call.shape(0)));
  if (samples < 1 || samples > (1 << 24)) fail("sample_size is {}", samples);
  const i64 batch = call.shape(0)[0], classes = call.shape(0)[1];
  const DType dtype = dtype_from_onnx(call.attrs.get_int("dtype", 6), "attribute 'dtype'");
  const TensorType type{call.dtype(0), {batch, samples, 1}};
  call.builder.reserve_constant(type, "the list of random numbers");
  Tensor numbers(type);
  Generator generator = generator_of(call);
  for (i64 i = 0; i < numbers.size(); i++) numbers.set(i, generator.next());
  const ValueId parts = call.emit1("Softmax", {logits}, make_attrs({{"axis", i64{1}}}));
  const ValueId sums = call.emit1("CumSum", {parts}, make_attrs({{"axis", i64{1}}}));
  // The last sum is 1, up to rounding: whatever is beyond the others is the last class.
  const ValueId bounds = call.reshape(slice(call, sums, 1, 0, classes - 1), {batch, 1, classes - 1});
  const ValueId beyond = call.emit1("GreaterOrEqual", {call.constant(std::move(numbers)), bounds});
  const ValueId ones = call.emit1("Cast", {beyond}, make_attrs({{"to", std::string(name(dtype))}}));
  return call.emit("ReduceSum", {ones}, make_attrs({{"axes", std::vector<i64>{2}}, {"keepdims", i64{0}}}));
}

constexpr std::string_view kDrawn = "drawn when compiled (OPS.md)";
constexpr OnnxOp kOps[] = {
    {"RandomUniform", random, "dtype high low seed shape", kDrawn},
    {"RandomUniformLike", random, "dtype high low seed", kDrawn},
    {"RandomNormal", random, "dtype mean scale seed shape", kDrawn},
    {"RandomNormalLike", random, "dtype mean scale seed", kDrawn},
    {"Multinomial", multinomial, "dtype sample_size seed", kDrawn},
};

}  // namespace

std::span<const OnnxOp> random_imports() { return kOps; }

}  // namespace mcc::frontend
