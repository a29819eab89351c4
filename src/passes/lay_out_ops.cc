// How each operator adapts to moved inputs: which attributes count dimensions. One table, one small function a family.
#include <algorithm>
#include <span>

#include "passes/lay_out.h"

namespace mcc {
namespace {

using Ints = std::vector<i64>;

i64 rank_of(Places& places, ValueId v) { return places.rw.rank(v); }

void put_only(Places& places, const Node& node, std::vector<ValueId> in, Attrs node_attrs, const Perm& perm) {
  places.put(node.out[0], {places.rw.emit(node.op, std::move(in), std::move(node_attrs)), perm});
}

// A convolution that reads an image of few channels in planes, as it is: only single elements of its input are used
// at a time, while a transposition would move them one by one.
bool reads_planes(Places& places, const Node& node) {
  constexpr i64 kMostPlanes = 16;
  const ValueId x = places.rw.now(node.in[0]);
  return node.op == "Conv" && !places.is_moved(node.in[0]) && node.attrs.get_int("group", 1) == 1 &&
         !moves_only_units(places.rw.shape(x), inverse(channels_first_of_last(places.rw.rank(x)))) &&
         places.rw.shape(x)[1] <= kMostPlanes;
}

// A 1x1 convolution of many pixels whose input and result are wanted channels-first: a product as it is.
bool is_product_in_place(Places& places, const Node& node) {
  constexpr i64 kLeastPixels = 512;  // fewer do not fill vectors
  const auto all = [&node](const char* name, i64 value) {
    const Ints ints = node.attrs.get_ints(name, {});
    return std::all_of(ints.begin(), ints.end(), [value](i64 i) { return i == value; });
  };
  if (node.op != "Conv" || places.is_moved(node.in[0]) || !places.leads_out(node.out[0])) return false;
  const Shape &x = places.rw.shape(node.in[0]), &w = places.rw.shape(node.in[1]);
  return node.attrs.get_int("group", 1) == 1 && elements(x) >= kLeastPixels * x[0] * x[1] &&
         elements(w) == w[0] * w[1] && all("strides", 1) && all("pads", 0);
}

// Convolutions and pools: channels-last wherever something moves anyway. Weights stay as they are.
bool window(Places& places, const Node& node) {
  const i64 rank = rank_of(places, node.in[0]);
  if (is_product_in_place(places, node) || rank < 3 || node.out.size() != 1 ||
      node.attrs.get_string("layout", "NCHW") != "NCHW")
    return false;
  const Perm perm = channels_first_of_last(rank);
  const bool planes = reads_planes(places, node);
  std::vector<ValueId> in{planes ? places.rw.now(node.in[0]) : places.in_order(node.in[0], perm)};
  for (size_t i = 1; i < node.in.size(); i++) in.push_back(places.plain(node.in[i]));
  Attrs last = node.attrs;
  last.set(planes ? "out_layout" : "layout", std::string("NHWC"));
  put_only(places, node, std::move(in), std::move(last), perm);
  return true;
}

// Normalisations that know the attribute `layout`: only for inputs that are channels-last already.
bool channel_norm(Places& places, const Node& node) { return places.is_moved(node.in[0]) && window(places, node); }

// The order that most elements of the inputs are in, if that is not the graph's own and has `rank` dimensions.
std::optional<Perm> order_of_largest(Places& places, const Node& node, i64 rank) {
  ValueId largest = kNone;
  i64 size = -1;
  for (const ValueId v : node.in) {
    if (v == kNone || places.rw.constant(places.rw.now(v))) continue;
    const i64 count = elements(places.rw.shape(v));
    if (count > size || (count == size && !places.is_moved(largest) && places.is_moved(v))) {
      largest = v;
      size = count;
    }
  }
  if (!places.is_moved(largest) || rank_of(places, largest) != rank) return std::nullopt;
  return places.of(largest).perm;
}

bool elementwise(Places& places, const Node& node) {
  const bool by_axis = node.attrs.has("axis") && node.in.size() > 1 && elements(places.rw.shape(node.in[1])) > 1;
  const std::optional<Perm> perm = order_of_largest(places, node, rank_of(places, node.out[0]));
  if (!perm || by_axis) return false;
  std::vector<ValueId> in;
  for (const ValueId v : node.in) in.push_back(places.aligned(v, *perm));
  put_only(places, node, std::move(in), node.attrs, *perm);
  return true;
}

bool concat(Places& places, const Node& node) {
  const i64 rank = rank_of(places, node.out[0]);
  const std::optional<Perm> perm = order_of_largest(places, node, rank);
  if (!perm) return false;
  std::vector<ValueId> in;
  for (const ValueId v : node.in) in.push_back(places.in_order(v, *perm));
  Attrs moved = node.attrs;
  moved.set("axis", (*perm)[at(normalize_axis(node.attrs.get_int("axis"), rank))]);
  put_only(places, node, std::move(in), std::move(moved), *perm);
  return true;
}

// Attribute `axis`, output of the same shape.
bool along_axis(Places& places, const Node& node) {
  const Placed x = places.of(node.in[0]);
  const i64 rank = rank_of(places, node.in[0]);
  Attrs moved = node.attrs;
  moved.set("axis", x.perm[at(normalize_axis(node.attrs.get_int("axis", -1), rank))]);
  std::vector<ValueId> in{x.u};
  for (size_t i = 1; i < node.in.size(); i++) in.push_back(places.plain(node.in[i]));
  put_only(places, node, std::move(in), std::move(moved), x.perm);
  return true;
}

bool gather(Places& places, const Node& node) {
  return rank_of(places, node.in[1]) == 1 && node.attrs.has("axis") && along_axis(places, node);
}

bool split(Places& places, const Node& node) {
  const Placed x = places.of(node.in[0]);
  Attrs moved = node.attrs;
  moved.set("axis", x.perm[at(normalize_axis(node.attrs.get_int("axis", 0), rank_of(places, node.in[0])))]);
  if (std::find(node.out.begin(), node.out.end(), kNone) != node.out.end()) return false;
  const std::vector<ValueId> parts = places.rw.emit_many("Split", {x.u}, std::move(moved), node.out.size());
  for (size_t i = 0; i < parts.size(); i++) places.put(node.out[i], {parts[i], x.perm});
  return true;
}

// The order left when the dimensions of `gone` (of v, not of u) are taken out.
Perm without(const Perm& perm, const Ints& gone) {
  const auto is_gone = [&gone](i64 d) { return std::find(gone.begin(), gone.end(), d) != gone.end(); };
  Perm left;
  for (size_t d = 0; d < perm.size(); d++) {
    if (is_gone(static_cast<i64>(d))) continue;
    i64 before = 0;  // dimensions of u that go and lie before this one
    for (const i64 g : gone) before += perm[at(g)] < perm[d];
    left.push_back(perm[d] - before);
  }
  return left;
}

bool reduce_axes(Places& places, const Node& node, const Ints& axes, Attrs moved, bool keep) {
  const Placed x = places.of(node.in[0]);
  put_only(places, node, {x.u}, std::move(moved), keep ? x.perm : without(x.perm, axes));
  return true;
}

bool reduce(Places& places, const Node& node) {
  const Placed x = places.of(node.in[0]);
  Ints axes = node.attrs.get_ints("axes", {}), lying;
  if (axes.empty()) return false;
  for (i64& axis : axes) axis = normalize_axis(axis, rank_of(places, node.in[0]));
  for (const i64 axis : axes) lying.push_back(x.perm[at(axis)]);
  std::sort(lying.begin(), lying.end());
  Attrs moved = node.attrs;
  moved.set("axes", lying);
  const bool keep = node.op == "MeanVarianceNormalization" || node.attrs.get_int("keepdims", 1) != 0;
  return reduce_axes(places, node, axes, std::move(moved), keep);
}

bool arg_reduce(Places& places, const Node& node) {
  const Placed x = places.of(node.in[0]);
  const i64 axis = normalize_axis(node.attrs.get_int("axis", 0), rank_of(places, node.in[0]));
  Attrs moved = node.attrs;
  moved.set("axis", x.perm[at(axis)]);
  return reduce_axes(places, node, {axis}, std::move(moved), node.attrs.get_int("keepdims", 1) != 0);
}

// `values` has `count` numbers for each dimension of v, group after group; the same for u.
template <typename T>
std::vector<T> per_dimension(const std::vector<T>& values, const Perm& perm) {
  std::vector<T> result(values.size());
  for (size_t i = 0; i < values.size(); i++) {
    const size_t group = i / perm.size() * perm.size();
    result[group + at(perm[i % perm.size()])] = values[i];
  }
  return result;
}

// Attributes with numbers for every dimension: pads, repeats, sizes, scales, roi, shape.
bool every_dimension(Places& places, const Node& node) {
  const Placed x = places.of(node.in[0]);
  if (rank_of(places, node.out[0]) != static_cast<i64>(x.perm.size())) return false;
  Attrs moved = node.attrs;
  for (auto& [name, value] : moved.items) {
    if (name == "axes") return false;
    if (auto* ints = std::get_if<Ints>(&value))
      *ints = per_dimension(*ints, x.perm);
    else if (auto* reals = std::get_if<std::vector<double>>(&value))
      *reals = per_dimension(*reals, x.perm);
  }
  put_only(places, node, {x.u}, std::move(moved), x.perm);
  return true;
}

bool slice(Places& places, const Node& node) {
  const Placed x = places.of(node.in[0]);
  const Ints starts = node.attrs.get_ints("starts");
  Ints axes = node.attrs.get_ints("axes", {});
  for (size_t i = axes.size(); i < starts.size(); i++) axes.push_back(static_cast<i64>(i));
  for (i64& axis : axes) axis = x.perm[at(normalize_axis(axis, rank_of(places, node.in[0])))];
  Attrs moved = node.attrs;
  moved.set("axes", axes);
  put_only(places, node, {x.u}, std::move(moved), x.perm);
  return true;
}

bool move(Places& places, const Node& node) {
  const Perm perm = node.attrs.get_ints("perm");
  const bool to_first = perm == channels_first_of_last(static_cast<i64>(perm.size()));
  if (!places.is_moved(node.in[0]) && !(to_first && perm.size() >= 3)) return false;
  places.put(node.out[0], transposed(places.of(node.in[0]), perm));
  return true;
}

bool reshape_moved(Places& places, const Node& node) {
  places.put(node.out[0], reshaped(places.rw, places.of(node.in[0]), places.rw.shape(node.out[0])));
  return true;
}

// DepthToSpace and SpaceToDepth are a Reshape, a Transpose and a Reshape.
bool blocks(Places& places, const Node& node) {
  const Shape &from = places.rw.shape(node.in[0]), &to = places.rw.shape(node.out[0]);
  const i64 b = node.attrs.get_int("blocksize");
  const bool to_depth = node.op == "SpaceToDepth", by_column = node.attrs.get_string("mode", "DCR") == "CRD";
  Shape parts{from[0], b, b, to[1], from[2], from[3]};
  Perm perm{0, 3, 4, 1, 5, 2};
  if (to_depth) {
    parts = {from[0], from[1], to[2], b, to[3], b};
    perm = {0, 3, 5, 1, 2, 4};
  } else if (by_column) {
    parts = {from[0], to[1], b, b, from[2], from[3]};
    perm = {0, 1, 4, 2, 5, 3};
  }
  const Shape whole = to;
  const Placed split = reshaped(places.rw, places.of(node.in[0]), parts);
  places.put(node.out[0], reshaped(places.rw, transposed(split, perm), whole));
  return true;
}

struct Rule {
  std::string_view op;
  bool (*apply)(Places&, const Node&);
};

constexpr Rule kAlways[] = {
    {"Conv", window},
    {"ConvTranspose", window},
    {"MaxPool", window},
    {"AveragePool", window},
    {"LpPool", window},
    {"GlobalMaxPool", window},
    {"GlobalLpPool", window},
    {"GlobalAveragePool", window},
    {"Transpose", move},
    {"Concat", concat},
    {"BatchNormalization", channel_norm},
    {"InstanceNormalization", channel_norm},
    {"LRN", channel_norm},
};
// Only when the first input is moved.
constexpr Rule kWhenMoved[] = {
    {"Reshape", reshape_moved},
    {"DepthToSpace", blocks},
    {"SpaceToDepth", blocks},
    {"Softmax", along_axis},
    {"LogSoftmax", along_axis},
    {"Hardmax", along_axis},
    {"CumSum", along_axis},
    {"LpNormalization", along_axis},
    {"Gather", gather},
    {"Split", split},
    {"Slice", slice},
    {"ArgMax", arg_reduce},
    {"ArgMin", arg_reduce},
    {"Pad", every_dimension},
    {"Tile", every_dimension},
    {"Expand", every_dimension},
    {"Resize", every_dimension},
    {"MeanVarianceNormalization", reduce},
};

bool apply_rule(std::span<const Rule> rules, Places& places, const Node& node, bool& found) {
  for (const Rule& rule : rules) {
    if (rule.op != node.op) continue;
    found = true;
    return rule.apply(places, node);
  }
  return false;
}

}  // namespace

bool lay_out_node(Places& places, const Node& node) {
  if (node.in.empty() || node.in[0] == kNone || node.out[0] == kNone) return false;
  bool found = false;
  const bool done = apply_rule(kAlways, places, node, found);
  if (found) return done;
  const OpDef* op = find_op(node.op);
  if (op && op->fuse == FuseKind::elementwise) return elementwise(places, node);
  if (!places.is_moved(node.in[0])) return false;
  if (node.op.starts_with("Reduce")) return reduce(places, node);
  return apply_rule(kWhenMoved, places, node, found);
}

}  // namespace mcc
