// winograd BLOCK [m]: a 3x3 convolution with stride 1 over channels-last data, in tiles of m x m outputs
// (loop/winograd.h).
//
// Before, with P the (padded) input:  Y[n.., y, x, oc] += P[n.., y + ky, x + kx, ic] * W[oc, ic, ky, kx]
// After, for each tile (ty, tx) of the output, with a, b over its m + 2 rows and columns:
//   BLOCK.row_in   R[a, n.., ty, x, ic]      = B^T over the rows of P[n.., m ty + (0..m+1), x, ic]
//   BLOCK.in       V[a, b, n.., ty, tx, ic]  = B^T over the columns of R[a, n.., ty, m tx + (0..m+1), ic]
//   BLOCK.mul      M[a, b, n.., ty, tx, oc] += V[a, b, n.., ty, tx, ic] * U[a, b, oc, ic]
//   BLOCK.row_out  S[r, b, n.., ty, tx, oc]  = A^T over the first dimension of M
//   BLOCK          Y[n.., m ty + r, m tx + c, oc] = A^T over the first dimension of S[r, ...]
// U is W, transformed at compile time (loop.h, Pack). Where the tiles reach beyond the image Y is larger than what is
// read of it, and P has to be zero there: the block that pads computes more. Where no block makes P, its tiles must end
// where the convolution ends.
#include "loop/winograd.h"

#include "loop/build.h"
#include "loop/loop_ops.h"
#include "schedule/steps.h"

namespace mcc::schedule {

namespace {

using loop::Expr;

// The parts of a convolution: buffers, axes of its stage, and dimensions of P.
struct Conv {
  int input = -1, weights = -1;
  int y = -1, x = -1, oc = -1, ic = -1, ky = -1, kx = -1;  // axes
  std::vector<int> batch;                                  // axes
  size_t y_dim = 0;                                        // of P; x follows, then channels
};

const Axis& axis(const Stage& stage, int a) { return stage.axes[at(a)]; }

// The axis at `index` when it stands there alone; -1.
int alone(const Stage& stage, const Expr& index) {
  const std::optional<Affine> affine = loop::as_affine(index);
  const bool plain = affine && affine->constant == 0 && affine->terms.size() == 1 && affine->terms[0].second == 1;
  return plain ? find_axis(stage, affine->terms[0].first) : -1;
}

// A spatial axis plus a reduction axis of extent 3, at one dimension of P.
bool sliding(const Stage& stage, const Expr& index, int& spatial, int& kernel) {
  const std::optional<Affine> affine = loop::as_affine(index);
  if (!affine || affine->constant != 0 || affine->terms.size() != 2) return false;
  if (affine->terms[0].second != 1 || affine->terms[1].second != 1) return false;
  spatial = find_axis(stage, affine->terms[0].first);
  kernel = find_axis(stage, affine->terms[1].first);
  if (spatial < 0 || kernel < 0) return false;
  if (axis(stage, spatial).reduction) std::swap(spatial, kernel);
  return !axis(stage, spatial).reduction && axis(stage, kernel).reduction && axis(stage, kernel).extent == 3;
}

bool read_input(const Stage& stage, const Expr& load, Conv& conv) {
  const size_t rank = load.args.size();
  if (rank < 3) return false;
  conv.input = static_cast<int>(load.i);
  conv.y_dim = rank - 3;
  for (size_t d = 0; d < conv.y_dim; d++) {
    conv.batch.push_back(alone(stage, load.args[d]));
    if (conv.batch.back() < 0 || axis(stage, conv.batch.back()).reduction) return false;
  }
  conv.ic = alone(stage, load.args[rank - 1]);
  return conv.ic >= 0 && axis(stage, conv.ic).reduction && sliding(stage, load.args[conv.y_dim], conv.y, conv.ky) &&
         sliding(stage, load.args[conv.y_dim + 1], conv.x, conv.kx);
}

std::optional<Conv> read_conv(const State& state, const Stage& stage) {
  Conv conv;
  const Expr& value = stage.store.value;
  if (value.op != loop::ExprOp::mul || value.dtype != DType::f32 || stage.store.op != loop::StoreOp::add)
    return std::nullopt;
  if (value.args[0].op != loop::ExprOp::load || value.args[1].op != loop::ExprOp::load) return std::nullopt;
  const bool swapped = state.buffer(value.args[0].i).scope == loop::Scope::constant;  // weights come first
  const Expr &p = value.args[swapped ? 1 : 0], &w = value.args[swapped ? 0 : 1];
  if (!read_input(stage, p, conv)) return std::nullopt;
  conv.weights = static_cast<int>(w.i);
  if (w.args.size() != 4) return std::nullopt;
  conv.oc = alone(stage, w.args[0]);
  if (conv.oc < 0 || axis(stage, conv.oc).reduction || alone(stage, w.args[1]) != conv.ic ||
      alone(stage, w.args[2]) != conv.ky || alone(stage, w.args[3]) != conv.kx)
    return std::nullopt;
  std::vector<int> order = conv.batch;  // of the output's dimensions
  order.insert(order.end(), {conv.y, conv.x, conv.oc});
  const std::vector<StoreDim> dims = store_dims(stage);
  if (dims.size() != order.size() || stage.axes.size() != order.size() + 3) return std::nullopt;
  for (size_t d = 0; d < dims.size(); d++) {
    if (dims[d].axis != order[d] || dims[d].offset != 0 || dims[d].inner >= 0) return std::nullopt;
  }
  return conv;
}

bool is_zero(const Expr& e) { return e.op == loop::ExprOp::constant && e.f == 0; }

bool any_load(const Expr& e) {
  bool found = false;
  loop::for_each_load(e, [&](const Expr&) { found = true; });
  return found;
}

bool untouched(const Stage& stage) {
  return stage.place == Stage::Place::root && stage.within.empty() && stage.loops.size() == stage.axes.size();
}

// Makes dimension d of P, of which the convolution reads `read`, `extent` long, where the block that computes P can be
// seen to give a constant there.
Reason extend(State& state, int buffer, size_t d, i64 read, i64 extent) {
  if (read >= extent) return "";
  i64& present = state.buffer(buffer).shape[d];
  for (Stage& stage : state.stages) {
    if (!writes(stage, buffer)) continue;
    if (present >= extent) return "";
    if (stage.opaque || stage.store.op != loop::StoreOp::assign || !untouched(stage)) break;
    const StoreDim dim = store_dims(stage)[d];
    if (dim.axis < 0 || dim.offset != 0 || dim.inner >= 0 || axis(stage, dim.axis).extent != present) break;
    const int var = axis(stage, dim.axis).var;
    const Expr beyond = loop::simplify(stage.store.value, [&](int v) -> std::optional<loop::Range> {
      if (v == var) return loop::Range{present, extent - 1};
      const int other = find_axis(stage, v);
      return other < 0 ? std::nullopt : std::optional(loop::Range{0, axis(stage, other).extent - 1});
    });
    if (any_load(beyond)) break;
    stage.axes[at(dim.axis)].extent = extent;
    present = extent;
    return "";
  }
  return "winograd: the input does not reach to the end of the last tile";
}

using Axes = std::vector<std::pair<std::string, i64>>;  // names and extents

Axes operator+(Axes a, const Axes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<Expr> operator+(std::vector<Expr> a, const std::vector<Expr>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Writes the new stages, in order; each reads what the one before wrote.
struct Writer {
  State& state;
  const loop::Winograd& w;
  std::string block;
  int region, input, weights;
  i64 height, width, channels, filters;  // tiles down and across; ic, oc
  Axes batch;

  Stage stage(const std::string& name, const Axes& axes) const;
  int buffer(const std::string& suffix, const Axes& axes) const;
  Expr load(int id, std::vector<Expr> index) const { return loop::load(state.buffer(id), id, std::move(index)); }
  // The variables of a stage, `count` from `from` on.
  static std::vector<Expr> vars(const Stage& stage, size_t from, size_t count) {
    std::vector<Expr> list;
    for (size_t a = from; a < from + count; a++) list.push_back(loop::var(stage.axes[a].var));
    return list;
  }
  static Expr var(const Stage& stage, size_t axis) { return loop::var(stage.axes[axis].var); }

  Stage row_in() const;
  Stage in(int rows) const;
  Stage mul(int tiles) const;
  Stage row_out(int products) const;
  Stage out(int halves, int output) const;
};

Stage Writer::stage(const std::string& name, const Axes& axes) const {
  Stage s;
  s.block = s.store.block = name;
  s.region = region;
  for (const auto& [axis_name, extent] : axes) add_axis(state, s, axis_name, extent);
  return s;
}

int Writer::buffer(const std::string& suffix, const Axes& axes) const {
  Shape shape;
  for (const auto& [name, extent] : axes) shape.push_back(extent);
  return new_buffer(state, block + suffix, DType::f32, std::move(shape));
}

Stage Writer::row_in() const {
  const i64 columns = w.m * width + 2;
  const Axes axes = Axes{{"a", w.tile()}} + batch + Axes{{"ty", height}, {"x", columns}, {"ic", channels}};
  Stage s = stage(block + ".row_in", axes);
  const size_t n = batch.size();
  s.store.buffer = buffer(".r", axes);
  s.store.index = vars(s, 0, n + 4);
  s.store.value = loop::times_bt(w, var(s, 0), [&](i64 i) {
    return load(input, vars(s, 1, n) + std::vector<Expr>{var(s, n + 1) * w.m + i, var(s, n + 2), var(s, n + 3)});
  });
  return s;
}

Stage Writer::in(int rows) const {
  const Axes axes =
      Axes{{"a", w.tile()}, {"b", w.tile()}} + batch + Axes{{"ty", height}, {"tx", width}, {"ic", channels}};
  Stage s = stage(block + ".in", axes);
  const size_t n = batch.size();
  s.store.buffer = buffer(".v", axes);
  s.store.index = vars(s, 0, n + 5);
  s.store.value = loop::times_bt(w, var(s, 1), [&](i64 j) {
    return load(rows, vars(s, 0, 1) + vars(s, 2, n + 1) + std::vector<Expr>{var(s, n + 3) * w.m + j, var(s, n + 4)});
  });
  return s;
}

Stage Writer::mul(int tiles) const {
  const Axes axes =
      Axes{{"a", w.tile()}, {"b", w.tile()}} + batch + Axes{{"ty", height}, {"tx", width}, {"oc", filters}};
  Stage s = stage(block + ".mul", axes + Axes{{"ic", channels}});
  const size_t n = batch.size();
  s.axes.back().reduction = true;
  s.store.op = loop::StoreOp::add;
  s.store.buffer = buffer(".m", axes);
  s.store.index = vars(s, 0, n + 5);
  s.store.value = load(tiles, vars(s, 0, n + 4) + vars(s, n + 5, 1)) *
                  load(weights, {var(s, 0), var(s, 1), var(s, n + 4), var(s, n + 5)});
  s.init = loop::const_float(0);
  return s;
}

Stage Writer::row_out(int products) const {
  const Axes axes = Axes{{"r", w.m}, {"b", w.tile()}} + batch + Axes{{"ty", height}, {"tx", width}, {"oc", filters}};
  Stage s = stage(block + ".row_out", axes);
  const size_t n = batch.size();
  s.store.buffer = buffer(".s", axes);
  s.store.index = vars(s, 0, n + 5);
  s.store.value = loop::times_at(
      w, var(s, 0), [&](i64 i) { return load(products, std::vector<Expr>{loop::const_int(i)} + vars(s, 1, n + 4)); });
  return s;
}

Stage Writer::out(int halves, int output) const {
  Stage s = stage(block, batch + Axes{{"ty", height}, {"r", w.m}, {"tx", width}, {"c", w.m}, {"oc", filters}});
  const size_t n = batch.size();
  s.store.buffer = output;
  s.store.index = vars(s, 0, n) + std::vector<Expr>{var(s, n) * w.m + var(s, n + 1),
                                                    var(s, n + 2) * w.m + var(s, n + 3), var(s, n + 4)};
  s.store.value = loop::times_at(w, var(s, n + 3), [&](i64 j) {
    return load(halves, std::vector<Expr>{var(s, n + 1), loop::const_int(j)} + vars(s, 0, n + 1) +
                            std::vector<Expr>{var(s, n + 2), var(s, n + 4)});
  });
  return s;
}

// What must hold of everything around the convolution.
Reason check(const State& state, int id, const Conv& conv) {
  const Stage& stage = state.stage(id);
  const loop::Buffer& weights = state.buffer(conv.weights);
  if (!untouched(stage) || !stage.init || !is_zero(*stage.init) || !sole_writer(state, id))
    return fmt::format("winograd: {} has been scheduled already", stage.block);
  if (state.buffer(stage.store.buffer).scope != loop::Scope::temp)
    return fmt::format("winograd: {} writes an output", stage.block);
  if (weights.scope != loop::Scope::constant || !weights.pack.dims.empty() ||
      readers(state, conv.weights) != std::vector<int>{id})
    return fmt::format("winograd: {} cannot be transformed", weights.name);
  return "";
}

}  // namespace

Reason step_winograd(State& state, const Step& step) {
  if (Reason why = schedulable(state, step.block, "winograd"); !why.empty()) return why;
  const loop::Winograd* w = step.ints.size() == 1 ? loop::winograd(step.ints[0]) : nullptr;
  if (!w) return "winograd: tiles are of 2, 4 or 6 outputs";
  const int id = find_stage(state, step.block);
  const Stage old = state.stage(id);
  const std::optional<Conv> conv = read_conv(state, old);
  if (!conv) return fmt::format("winograd: {} is no 3x3 convolution with stride 1, channels last", step.block);
  if (Reason why = check(state, id, *conv); !why.empty()) return why;
  const i64 image[] = {axis(old, conv->y).extent, axis(old, conv->x).extent};
  const i64 tiles[] = {ceil_div(image[0], w->m), ceil_div(image[1], w->m)};
  loop::Buffer& output = state.buffer(old.store.buffer);
  for (size_t d = 0; d < 2; d++) {
    if (Reason why = extend(state, conv->input, conv->y_dim + d, image[d] + 2, w->m * tiles[d] + 2); !why.empty())
      return why;
    output.shape[conv->y_dim + d] = w->m * tiles[d];
  }
  loop::Buffer& weights = state.buffer(conv->weights);
  weights.pack = {weights.shape, {{0, 1}, {1, 1}, {2, 1}, {3, 1}}, w->m};
  weights.shape = loop::laid_out(weights.pack);

  Writer write{state,
               *w,
               step.block,
               old.region,
               conv->input,
               conv->weights,
               tiles[0],
               tiles[1],
               axis(old, conv->ic).extent,
               axis(old, conv->oc).extent,
               {}};
  for (int a : conv->batch) write.batch.emplace_back(axis(old, a).name, axis(old, a).extent);
  Stage row_in = write.row_in(), in = write.in(row_in.store.buffer), mul = write.mul(in.store.buffer);
  Stage row_out = write.row_out(mul.store.buffer), out = write.out(row_out.store.buffer, old.store.buffer);
  state.stage(id) = std::move(out);
  for (Stage* stage : {&row_out, &mul, &in, &row_in}) insert_stage(state, id, std::move(*stage));
  return "";
}

}  // namespace mcc::schedule
