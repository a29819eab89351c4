// GridSample(x[n, c, d1, ..., dr], grid[n, e1, ..., er, r]) with mode nearest | linear | cubic, padding_mode zeros |
// border | reflection, align_corners; any number r of spatial axes.
//
// Block "position<d>" turns the grid's numbers, which run from -1 to 1 and name the last axis first, into positions
// along axis d, once for all channels. Block "sample" is the nested weighted sum over the taps of all axes, as in
// resize.cc. A position far outside is moved first, as the ONNX definition has it; then each tap by itself. (Not for
// cubic with border, where PyTorch and ONNX Runtime move the taps only.)
#include "ops/sample.h"

#include <cmath>

namespace mcc::ops {

GridSample read_grid_sample(const Node& node, const Shape& x) {
  GridSample g;
  const std::string mode = node.attrs.get_string("mode", "linear");
  const std::string outside = node.attrs.get_string("padding_mode", "zeros");
  if (mode != "nearest" && mode != "linear" && mode != "cubic") fail("mode '{}' is unknown", mode);
  if (outside != "zeros" && outside != "border" && outside != "reflection")
    fail("padding_mode '{}' is unknown", outside);
  g.kind = mode == "nearest" ? GridSample::nearest : mode == "linear" ? GridSample::linear : GridSample::cubic;
  g.outside = outside == "zeros"    ? GridSample::zeros
              : outside == "border" ? GridSample::border
                                    : GridSample::reflection;
  g.aligned = node.attrs.get_int("align_corners", 0) != 0;
  g.in.assign(x.begin() + 2, x.end());
  return g;
}

namespace {

using namespace loop;

constexpr double kCubicA = -0.75;

std::vector<TensorType> infer(const Node& node, Types in) {
  const Shape &x = in[0].shape, &grid = in[1].shape;
  if (x.size() < 3) fail("input {} has no spatial dimension", to_string(x));
  if (!is_float(in[0].dtype) || !is_float(in[1].dtype)) fail("takes floating-point numbers");
  if (grid.size() != x.size() || grid[0] != x[0] || grid.back() != rank(in[0]) - 2)
    fail("grid {} does not fit input {}", to_string(grid), to_string(x));
  const GridSample g = read_grid_sample(node, x);
  Shape shape{x[0], x[1]};
  shape.insert(shape.end(), grid.begin() + 1, grid.end() - 1);
  for (const i64 extent : g.in)
    if (extent == 0 && elements(shape) > 0) fail("a spatial axis is empty");
  return {{in[0].dtype, shape}};
}

struct Tap {
  Expr index;   // in the input
  Expr inside;  // whether it counts
  Expr weight;
};

struct Lowering {
  const FuncBuilder& b;
  const GridSample& g;
  int x, positions;
  DType acc;

  Expr number(double v) const { return constant(acc, v); }
  double low() const { return g.aligned ? 0 : -0.5; }
  double span(size_t d) const { return static_cast<double>(g.in[d]) - (g.aligned ? 1 : 0); }

  // f folded back into low .. low + span.
  Expr reflected(const Expr& f, size_t d) const {
    if (span(d) == 0) return number(0);
    const Expr way = unary(ExprOp::abs, f - number(low()));
    const Expr turns = unary(ExprOp::floor, way / number(span(d)));
    const Expr rest = way - turns * number(span(d));
    const Expr half = turns * number(0.5);
    const Expr even = binary(ExprOp::eq, unary(ExprOp::floor, half), half);
    return select(even, number(low()) + rest, number(low() + span(d)) - rest);
  }
  Expr position(const Expr& from_grid, size_t d) const {
    const double extent = static_cast<double>(g.in[d]);
    Expr p = g.aligned ? (from_grid + number(1)) * number(0.5 * (extent - 1))
                       : ((from_grid + number(1)) * number(extent) - number(1)) * number(0.5);
    if (g.kind == GridSample::nearest) p = unary(ExprOp::round_even, p);
    if (!g.moves()) return p;
    const Expr far = p < number(low()) || number(low() + span(d)) < p;
    const Expr moved =
        g.outside == GridSample::reflection ? reflected(p, d) : max(min(p, number(extent - 1)), number(0));
    return select(far, moved, p);
  }
  Tap tap(const Expr& f, size_t d, const Expr& weight) const {
    const i64 extent = g.in[d];
    Expr within = number(-1) < f && f < number(static_cast<double>(extent)), moved = f;
    if (g.outside == GridSample::reflection) moved = select(within, f, reflected(f, d));
    if (g.outside != GridSample::zeros) within = const_int(1, DType::boolean);
    return {max(min(loop::cast(DType::i64, moved), const_int(extent - 1)), const_int(0)), within, weight};
  }
  std::vector<Tap> taps(size_t d, const Vars& grid_point) const {
    Vars index = grid_point;
    index.push_back(const_int(static_cast<i64>(d)));
    const Expr p = b.load(positions, index), one = number(1);
    if (g.kind == GridSample::nearest) return {tap(p, d, one)};
    const Expr base = unary(ExprOp::floor, p), t = p - base, rest = one - t;
    if (g.kind == GridSample::linear) return {tap(base, d, rest), tap(base + one, d, t)};
    return {tap(base - one, d, cubic_far(one + t)), tap(base, d, cubic_near(t)), tap(base + one, d, cubic_near(rest)),
            tap(base + number(2), d, cubic_far(one + rest))};
  }
  Expr cubic_near(const Expr& t) const { return (t * number(kCubicA + 2) - number(kCubicA + 3)) * t * t + number(1); }
  Expr cubic_far(const Expr& t) const {
    return ((t * number(kCubicA) - number(5 * kCubicA)) * t + number(8 * kCubicA)) * t - number(4 * kCubicA);
  }
  // The weighted sum over the taps of the axes from d on; those before are decided in `index`.
  Expr sum(size_t d, const Expr& inside, Vars& index, const Vars& grid_point) const {
    if (d == g.in.size()) return select(inside, loop::cast(acc, b.load(x, index)), number(0));
    Expr total;
    bool first = true;
    for (const Tap& tap : taps(d, grid_point)) {
      index.push_back(tap.index);
      Expr value = sum(d + 1, inside && tap.inside, index, grid_point);
      index.pop_back();
      if (g.kind != GridSample::nearest) value = value * tap.weight;
      total = first ? value : total + value;
      first = false;
    }
    return total;
  }
};

Func lower(const Node& node, Types in, Types out) {
  const GridSample g = read_grid_sample(node, in[0].shape);
  const DType acc = compute_type(in[0].dtype);
  FuncBuilder b("gridsample");
  const int x = b.input("x", in[0].dtype, in[0].shape), grid = b.input("grid", in[1].dtype, in[1].shape);
  const int y = b.output("y", out[0].dtype, out[0].shape), positions = b.temp("position", acc, in[1].shape);
  const Lowering low{b, g, x, positions, acc};
  const Shape points(in[1].shape.begin(), in[1].shape.end() - 1);
  for (size_t d = 0; d < g.in.size(); d++) {
    const auto place = [](Vars v, size_t i) {
      v.push_back(const_int(static_cast<i64>(i)));
      return v;
    };
    b.block_at(
        fmt::format("position{}", d), points, positions, [&](const Vars& v) { return place(v, d); },
        [&](const Vars& v) { return low.position(loop::cast(acc, b.load(grid, place(v, g.in.size() - 1 - d))), d); });
  }
  b.block("sample", out[0].shape, y, [&](const Vars& v) {
    Vars point = v, index{v[0], v[1]};
    point.erase(point.begin() + 1);
    return loop::cast(out[0].dtype, low.sum(0, const_int(1, DType::boolean), index, point));
  });
  return b.take();
}

const OpDef kOps[] = {
    {"GridSample", FuseKind::opaque, 2, 2, infer, lower, grid_sample_reference},
};

}  // namespace

}  // namespace mcc::ops

namespace mcc {

std::span<const OpDef> sample_ops() {
  static const std::vector<OpDef> ops = [] {
    std::vector<OpDef> made(std::begin(ops::kOps), std::end(ops::kOps));
    made.insert(made.end(), ops::region_ops().begin(), ops::region_ops().end());
    made.push_back(ops::deform_sample_op());
    return made;
  }();
  return ops;
}

}  // namespace mcc
