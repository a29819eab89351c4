// Gathering and scattering by index tensors, TopK and OneHot.
#include "frontend/importer.h"

namespace mcc::frontend {
namespace {

Outputs scatter(OnnxCall& call) { return call.emit("ScatterElements", call.in, call.attrs); }

Outputs one_hot(OnnxCall& call) {
  const double depth = call.known_number(1, "depth");
  if (!(depth >= 0 && depth <= 0x1p46)) fail("the depth is {}", depth);
  Attrs attrs = make_attrs({{"axis", call.attrs.get_int("axis", -1)}, {"depth", static_cast<i64>(depth)}});
  return call.emit("OneHot", {call.need(0, "indices"), call.need(2, "values")}, std::move(attrs));
}

Outputs top_k(OnnxCall& call) {
  const std::vector<i64> k = call.attrs.has("k") ? std::vector<i64>{call.attrs.get_int("k")} : call.known_ints(1, "K");
  if (k.size() != 1) fail("input 'K' has {} elements instead of one", k.size());
  const i64 axis = normalize_axis(call.attrs.get_int("axis", -1), call.rank(0));
  if (k[0] < 0 || k[0] > call.shape(0)[at(axis)])
    fail("K is {}, but axis {} has extent {}", k[0], axis, call.shape(0)[at(axis)]);
  return call.emit("TopK", {call.need(0, "input")},
                   make_attrs({{"axis", axis},
                               {"k", k[0]},
                               {"largest", call.attrs.get_int("largest", 1)},
                               {"sorted", call.attrs.get_int("sorted", 1)}}),
                   2);
}

constexpr OnnxOp kOps[] = {
    {"Gather", import_plain, "axis"},
    {"GatherElements", import_plain, "axis"},
    {"GatherND", import_plain, "batch_dims"},
    {"Scatter", scatter, "axis"},
    {"ScatterElements", import_plain, "axis reduction"},
    {"ScatterND", import_plain, "reduction"},
    {"OneHot", one_hot, "axis", "depth known"},
    {"TopK", top_k, "k axis largest sorted", "K known"},
};

}  // namespace

std::span<const OnnxOp> gather_imports() { return kOps; }

}  // namespace mcc::frontend
