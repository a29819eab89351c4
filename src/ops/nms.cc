// NonMaxSuppression(boxes[b, n, 4], scores[b, c, n]) with k, iou_threshold, score_threshold (absent: all boxes count)
// and center_point_box: for each batch and class the numbers of up to k boxes, best score first, as i64[b, c, k]; -1
// where no box is left. ONNX's list of (batch, class, box) is made of these by NonZero.
//
// k times, in a region: the best score that is left and the first box that has it; then that box and those that overlap
// it too much lose their scores. A score of minus infinity means that the box is out.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/select.h"

namespace mcc::ops {

namespace {

using namespace loop;

constexpr double kOut = -std::numeric_limits<double>::infinity();

struct Suppression {
  i64 batch, classes, n, k;
  bool centered;
  double iou, least;

  Suppression(const Node& node, Types in)
      : batch(in[1].shape[0]),
        classes(in[1].shape[1]),
        n(in[1].shape[2]),
        k(node.attrs.get_int("k")),
        centered(node.attrs.get_int("center_point_box", 0) != 0),
        iou(node.attrs.get_float("iou_threshold", 0)),
        least(node.attrs.get_float("score_threshold", kOut)) {}
};

std::vector<TensorType> infer(const Node& node, Types in) {
  require_rank(in[0], 3, "the list of boxes");
  require_rank(in[1], 3, "the list of scores");
  require_same_dtype(in[0], in[1]);
  if (!is_float(in[0].dtype)) fail("takes floating-point numbers, not {}", name(in[0].dtype));
  const Suppression s(node, in);
  if (in[0].shape != Shape{s.batch, s.n, 4})
    fail("boxes {} do not fit scores {}", to_string(in[0].shape), to_string(in[1].shape));
  if (s.k < 0 || s.k > s.n) fail("k = {} is outside 0..{}", s.k, s.n);
  return {{DType::i64, {s.batch, s.classes, s.k}}};
}

// A box as low and high ends along two axes.
struct Ends {
  Expr low[2], high[2];

  Expr length(int axis) const { return high[axis] - low[axis]; }
  Expr area() const { return length(0) * length(1); }
};

Ends ends_of(const FuncBuilder& b, int boxes, const Suppression& s, DType acc, const Expr& batch, const Expr& box) {
  Ends e;
  const auto number = [&](i64 i) { return loop::cast(acc, b.load(boxes, {batch, box, const_int(i)})); };
  for (int axis = 0; axis < 2; axis++) {
    const Expr first = number(axis), second = number(axis + 2), half = second * constant(acc, 0.5);
    e.low[axis] = s.centered ? first - half : min(first, second);
    e.high[axis] = s.centered ? first + half : max(first, second);
  }
  return e;
}

// Whether the boxes share more than the threshold of what they cover together.
Expr overlap(const Ends& p, const Ends& q, const Suppression& s, DType acc) {
  Expr common[2];
  for (int axis = 0; axis < 2; axis++) common[axis] = min(p.high[axis], q.high[axis]) - max(p.low[axis], q.low[axis]);
  const Expr both = common[0] * common[1], zero = constant(acc, 0);
  return zero < common[0] && zero < common[1] && zero < p.area() && zero < q.area() &&
         constant(acc, s.iou) < both / (p.area() + q.area() - both);
}

Func lower(const Node& node, Types in, Types out) {
  const Suppression s(node, in);
  const DType acc = compute_type(in[0].dtype);
  const Shape per_class{s.batch, s.classes}, all{s.batch, s.classes, s.n};
  FuncBuilder b("nms");
  const int boxes = b.input("boxes", in[0].dtype, in[0].shape), scores = b.input("scores", in[1].dtype, in[1].shape);
  const int y = b.output("y", DType::i64, out[0].shape);
  const int left = b.temp("left", acc, all), best = b.temp("best", acc, per_class);
  const int chosen = b.temp("chosen", DType::i64, per_class);
  const Expr out_of_it = constant(acc, kOut);
  const auto ends = [&](const Expr& batch, const Expr& box) { return ends_of(b, boxes, s, acc, batch, box); };
  b.block("left0", all, left, [&](const Vars& v) {
    const Expr score = loop::cast(acc, b.load(scores, v));
    return select(constant(acc, s.least) < score, score, out_of_it);
  });
  b.region("round", s.k, [&](const Expr& round) {
    b.reduce("best", per_class, {s.n}, best, StoreOp::max, out_of_it,
             [&](const Vars& v, const Vars& r) { return b.load(left, {v[0], v[1], r[0]}); });
    b.reduce("chosen", per_class, {s.n}, chosen, StoreOp::min, const_int(s.n), [&](const Vars& v, const Vars& r) {
      const Expr score = b.load(left, {v[0], v[1], r[0]});
      return select(out_of_it < score && binary(ExprOp::eq, score, b.load(best, v)), r[0], const_int(s.n));
    });
    b.block_at(
        "y", per_class, y, [&](const Vars& v) { return Vars{v[0], v[1], round}; },
        [&](const Vars& v) {
          const Expr box = b.load(chosen, v);
          return select(box < const_int(s.n), box, const_int(-1));
        });
    b.block("left", all, left, [&](const Vars& v) {
      const Expr box = b.load(chosen, {v[0], v[1]}), score = b.load(left, v);
      const Expr gone =
          binary(ExprOp::eq, box, v[2]) || overlap(ends(v[0], min(box, const_int(s.n - 1))), ends(v[0], v[2]), s, acc);
      return select(box < const_int(s.n) && gone, out_of_it, score);
    });
  });
  return b.take();
}

// --- reference -------------------------------------------------------------------------------------------------------

struct Box {
  double low[2], high[2];
  double area() const { return (high[0] - low[0]) * (high[1] - low[1]); }
};

Box read_box(const Tensor& boxes, i64 first, bool centered) {
  Box box{};
  for (int axis = 0; axis < 2; axis++) {
    const double a = boxes.get(first + axis), b = boxes.get(first + axis + 2);
    box.low[axis] = centered ? a - b / 2 : std::min(a, b);
    box.high[axis] = centered ? a + b / 2 : std::max(a, b);
  }
  return box;
}

double overlap_of(const Box& p, const Box& q) {
  double common = 1;
  for (int axis = 0; axis < 2; axis++)
    common *= std::max(0.0, std::min(p.high[axis], q.high[axis]) - std::max(p.low[axis], q.low[axis]));
  return common > 0 && p.area() > 0 && q.area() > 0 ? common / (p.area() + q.area() - common) : 0;
}

void reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  const Tensor &boxes = *in[0], &scores = *in[1];
  const TensorType types[] = {boxes.type, scores.type};
  const Suppression s(node, types);
  for (i64 row = 0; row < s.batch * s.classes; row++) {
    std::vector<i64> order;
    for (i64 i = 0; i < s.n; i++)
      if (scores.get(row * s.n + i) > s.least) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](i64 a, i64 b) { return scores.get(row * s.n + a) > scores.get(row * s.n + b); });
    std::vector<Box> kept;
    i64 found = 0;
    for (const i64 i : order) {
      const Box box = read_box(boxes, (row / s.classes * s.n + i) * 4, s.centered);
      const bool hidden =
          std::any_of(kept.begin(), kept.end(), [&](const Box& k) { return overlap_of(k, box) > s.iou; });
      if (hidden || found == s.k) continue;
      kept.push_back(box);
      out[0].set_int(row * s.k + found++, i);
    }
    while (found < s.k) out[0].set_int(row * s.k + found++, -1);
  }
}

}  // namespace

OpDef suppression_op() { return {"NonMaxSuppression", FuseKind::opaque, 2, 2, infer, lower, reference}; }

}  // namespace mcc::ops
