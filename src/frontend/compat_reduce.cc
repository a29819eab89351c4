// Reductions: the axes, an attribute in old opsets and an input in new ones, become an explicit list.
#include "frontend/importer.h"

namespace mcc::frontend {
namespace {

Outputs reduce(OnnxCall& call) {
  const i64 rank = call.rank(0);
  std::vector<i64> axes = normalize_axes(call.ints_from(1, "axes"), rank);
  if (axes.empty()) {
    if (call.attrs.get_int("noop_with_empty_axes", 0) != 0) return {call.need(0, "input")};
    axes = range(rank);
  }
  return call.emit(call.op, {call.need(0, "input")},
                   make_attrs({{"axes", axes}, {"keepdims", call.attrs.get_int("keepdims", 1)}}));
}

Outputs arg_reduce(OnnxCall& call) {
  Attrs attrs = make_attrs({{"axis", normalize_axis(call.attrs.get_int("axis", 0), call.rank(0))},
                            {"keepdims", call.attrs.get_int("keepdims", 1)},
                            {"select_last_index", call.attrs.get_int("select_last_index", 0)}});
  return call.emit(call.op, {call.need(0, "input")}, std::move(attrs));
}

Outputs cum_sum(OnnxCall& call) {
  Attrs attrs = make_attrs({{"axis", normalize_axis(call.known_int(1, "axis"), call.rank(0))},
                            {"exclusive", call.attrs.get_int("exclusive", 0)},
                            {"reverse", call.attrs.get_int("reverse", 0)}});
  return call.emit("CumSum", {call.need(0, "input")}, std::move(attrs));
}

constexpr std::string_view kReduceAttrs = "axes keepdims noop_with_empty_axes";
constexpr std::string_view kReduceLimits = "axes known";
constexpr OnnxOp kOps[] = {
    {"ReduceSum", reduce, kReduceAttrs, kReduceLimits},
    {"ReduceMean", reduce, kReduceAttrs, kReduceLimits},
    {"ReduceMax", reduce, kReduceAttrs, kReduceLimits},
    {"ReduceMin", reduce, kReduceAttrs, kReduceLimits},
    {"ReduceProd", reduce, kReduceAttrs, kReduceLimits},
    {"ReduceL1", reduce, kReduceAttrs, kReduceLimits},
    {"ReduceL2", reduce, kReduceAttrs, kReduceLimits},
    {"ReduceSumSquare", reduce, kReduceAttrs, kReduceLimits},
    {"ReduceLogSum", reduce, kReduceAttrs, kReduceLimits},
    {"ReduceLogSumExp", reduce, kReduceAttrs, kReduceLimits},
    {"ArgMax", arg_reduce, "axis keepdims select_last_index"},
    {"ArgMin", arg_reduce, "axis keepdims select_last_index"},
    {"CumSum", cum_sum, "exclusive reverse", "axis known"},
};

}  // namespace

std::span<const OnnxOp> reduce_imports() { return kOps; }

}  // namespace mcc::frontend
