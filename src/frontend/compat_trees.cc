// Ensembles of decision trees (ai.onnx.ml), as scikit-learn, XGBoost and LightGBM export them.
//
// All trees are walked at once: of each row and tree the number of a node is known, and a step looks the node's feature
// and threshold up in tables and goes on to one of its children. Leaves lead to themselves; after as many steps as the
// deepest tree has, the weights of the leaves are looked up and summed.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/text.h"
#include "frontend/compat_ml.h"

namespace mcc::frontend {
namespace {

using Numbers = std::vector<i64>;
using Reals = std::vector<double>;

// Nodes of all trees, in the file's order.
struct Forest {
  Numbers feature, if_true, if_false, if_nan;
  Reals threshold;
  std::vector<bool> equality;                // the comparison is ==, not <=
  std::map<std::pair<i64, i64>, i64> place;  // of (tree, node)
  Numbers roots;
  i64 depth = 0;

  i64 size() const { return std::ssize(feature); }
};

Numbers list_of(const OnnxCall& call, const std::string& key, i64 count) {
  Numbers list = call.attrs.get_ints(key);
  if (std::ssize(list) != count) fail("{} has {} entries instead of {}", key, list.size(), count);
  return list;
}

double number_before(double t, DType dtype) {
  constexpr double kLeast = -std::numeric_limits<double>::infinity();
  return dtype == DType::f64 ? std::nextafter(t, kLeast) : std::nextafterf(static_cast<float>(t), -INFINITY);
}

constexpr std::string_view kModes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"};

// x < t is x <= the number before t; > and >= are the opposites, with the children exchanged. NaN compares false.
void set_node(Forest& f, size_t i, const std::string& mode, DType dtype, i64 yes, i64 no, bool nan_is_yes) {
  if (mode == "BRANCH_LT" || mode == "BRANCH_GTE") f.threshold[i] = number_before(f.threshold[i], dtype);
  const bool opposite = mode == "BRANCH_GT" || mode == "BRANCH_GTE" || mode == "BRANCH_NEQ";
  f.equality[i] = mode == "BRANCH_EQ" || mode == "BRANCH_NEQ";
  f.if_true[i] = opposite ? no : yes;
  f.if_false[i] = opposite ? yes : no;
  f.if_nan[i] = nan_is_yes || mode == "BRANCH_NEQ" ? yes : no;
}

// Each node but a root has one parent, and all hang on a root: no step goes in circles.
void find_roots(Forest& f) {
  std::vector<bool> is_child(at(f.size()));
  for (i64 i = 0; i < f.size(); i++) {
    if (f.if_true[at(i)] == i) continue;
    for (const i64 child : {f.if_true[at(i)], f.if_false[at(i)]}) {
      if (is_child[at(child)] || child == i) fail("a node of a tree has two parents");
      is_child[at(child)] = true;
    }
  }
  i64 reached = 0;
  Numbers level;
  std::set<i64> trees;
  for (const auto& [id, i] : f.place)
    if (!is_child[at(i)]) {
      if (!trees.insert(id.first).second) fail("tree {} has two roots", id.first);
      level.push_back(i);
    }
  f.roots = level;
  for (; !level.empty(); f.depth++) {
    Numbers next;
    for (const i64 i : level)
      if (f.if_true[at(i)] != i) next.insert(next.end(), {f.if_true[at(i)], f.if_false[at(i)]});
    reached += std::ssize(level);
    level = std::move(next);
  }
  f.depth--;
  if (reached != f.size()) fail("nodes of the trees go in circles");
}

Forest read_forest(const OnnxCall& call, ValueId x) {
  const i64 features = call.builder.shape(x)[1];
  const std::vector<std::string> modes = split_words(call.attrs.get_string("nodes_modes", ""));
  const i64 count = std::ssize(modes);
  if (count == 0) fail("there are no trees");
  const Numbers trees = list_of(call, "nodes_treeids", count), ids = list_of(call, "nodes_nodeids", count);
  const Numbers yes = list_of(call, "nodes_truenodeids", count), no = list_of(call, "nodes_falsenodeids", count);
  const Numbers tracks = call.attrs.get_ints("nodes_missing_value_tracks_true", std::vector<i64>(at(count), 0));
  Forest f;
  f.feature = list_of(call, "nodes_featureids", count);
  f.threshold = call.attrs.get_floats("nodes_values", {});
  if (std::ssize(f.threshold) != count || (!tracks.empty() && std::ssize(tracks) != count))
    fail("nodes_values or nodes_missing_value_tracks_true is not a number for each of {} nodes", count);
  for (i64 i = 0; i < count; i++)
    if (!f.place.emplace(std::pair(trees[at(i)], ids[at(i)]), i).second)
      fail("node {} of tree {} is there twice", ids[at(i)], trees[at(i)]);
  f.if_true.resize(at(count)), f.if_false.resize(at(count)), f.if_nan.resize(at(count));
  f.equality.resize(at(count));
  for (size_t i = 0; i < modes.size(); i++) {
    if (modes[i] == "LEAF") {
      f.feature[i] = 0;
      f.if_true[i] = f.if_false[i] = f.if_nan[i] = static_cast<i64>(i);
      continue;
    }
    const auto child = [&](i64 id) {
      const auto found = f.place.find({trees[i], id});
      if (found == f.place.end()) fail("tree {} has no node {}", trees[i], id);
      return found->second;
    };
    if (std::find(std::begin(kModes), std::end(kModes), modes[i]) == std::end(kModes))
      fail("the mode {} of a node is not known", modes[i]);
    if (f.feature[i] < 0 || f.feature[i] >= features)
      fail("feature {} of a node is not one of {}", f.feature[i], features);
    set_node(f, i, modes[i], call.builder.type(x).dtype, child(yes[i]), child(no[i]),
             !tracks.empty() && tracks[i] != 0);
  }
  find_roots(f);
  return f;
}

ValueId table(const OnnxCall& call, const Numbers& numbers) {
  return call.constant(Tensor::of<i64>(DType::i64, {std::ssize(numbers)}, numbers));
}

// x [rows, features] -> the leaf of each row and tree, [rows, trees].
ValueId leaves(const OnnxCall& call, ValueId x, const Forest& f) {
  const DType dtype = call.builder.type(x).dtype;
  const Shape shape = {call.builder.shape(x)[0], std::ssize(f.roots)};
  call.builder.reserve_constant({DType::i64, shape}, "a node for each row and tree");
  Tensor thresholds(TensorType{dtype, {f.size()}}), equality(TensorType{DType::boolean, {f.size()}});
  for (i64 i = 0; i < f.size(); i++) {
    thresholds.set(i, f.threshold[at(i)]);
    equality.set(i, f.equality[at(i)] ? 1 : 0);
  }
  const bool has_equality = std::find(f.equality.begin(), f.equality.end(), true) != f.equality.end();
  const ValueId threshold = call.constant(std::move(thresholds)), is_equality = call.constant(std::move(equality));
  const ValueId feature = table(call, f.feature), if_true = table(call, f.if_true);
  const ValueId if_false = table(call, f.if_false), if_nan = table(call, f.if_nan);
  ValueId node = call.emit1("Expand", {table(call, f.roots)}, make_attrs({{"shape", shape}}));
  for (i64 step = 0; step < f.depth; step++) {
    const auto look_up = [&](ValueId in) { return rows_of(call, in, node); };
    const ValueId v = call.emit1("GatherElements", {x, look_up(feature)}, make_attrs({{"axis", i64{1}}}));
    const ValueId t = look_up(threshold);
    ValueId holds = call.emit1("LessOrEqual", {v, t});
    if (has_equality) holds = call.emit1("Where", {look_up(is_equality), call.emit1("Equal", {v, t}), holds});
    ValueId next = call.emit1("Where", {holds, look_up(if_true), look_up(if_false)});
    if (f.if_nan != f.if_false) next = call.emit1("Where", {call.emit1("IsNaN", {v}), look_up(if_nan), next});
    node = next;
  }
  return node;
}

// What the leaves give to `count` classes or targets.
struct Weights {
  Tensor table;                               // f32 [nodes, count]
  std::set<i64> ids;                          // who gets anything
  bool all_positive = true, complete = true;  // complete: each leaf gives to all
};

// `kind`, class or target, is what the attributes' names begin with.
Weights read_weights(const OnnxCall& call, const Forest& f, i64 count, const std::string& kind) {
  const Numbers ids = call.attrs.get_ints(kind + "_ids");
  const i64 entries = std::ssize(ids);
  const Numbers trees = list_of(call, kind + "_treeids", entries), nodes = list_of(call, kind + "_nodeids", entries);
  const Reals weights = call.attrs.get_floats(kind + "_weights", {});
  if (std::ssize(weights) != entries) fail("{}_weights has {} entries instead of {}", kind, weights.size(), entries);
  call.builder.reserve_constant({DType::f32, {f.size(), count}}, "the leaves' weights");
  Weights w{Tensor(TensorType{DType::f32, {f.size(), count}}), {}, true, true};
  std::set<std::pair<i64, i64>> given;
  for (i64 i = 0; i < entries; i++) {
    const auto node = f.place.find({trees[at(i)], nodes[at(i)]});
    if (node == f.place.end())
      fail("{} weights are for node {} of tree {}, which is not there", kind, nodes[at(i)], trees[at(i)]);
    if (ids[at(i)] < 0 || ids[at(i)] >= count) fail("{} {} is not one of {}", kind, ids[at(i)], count);
    const i64 cell = node->second * count + ids[at(i)];
    w.table.set(cell, w.table.get(cell) + weights[at(i)]);
    w.ids.insert(ids[at(i)]);
    w.all_positive = w.all_positive && weights[at(i)] >= 0;
    given.emplace(node->second, ids[at(i)]);
  }
  for (i64 i = 0; i < f.size(); i++)
    for (i64 k = 0; k < count && f.if_true[at(i)] == i; k++) w.complete = w.complete && given.contains({i, k});
  return w;
}

// Base values, if any, added to scores [rows, base values].
ValueId plus_base(const OnnxCall& call, ValueId scores, const Reals& base) {
  return base.empty() ? scores : call.emit1("Add", {scores, floats(call, base, {std::ssize(base)})});
}

ValueId over_trees(const OnnxCall& call, ValueId per_tree, const char* reduction) {
  return call.emit1(reduction, {per_tree}, make_attrs({{"axes", std::vector<i64>{1}}, {"keepdims", i64{0}}}));
}

Outputs regressor(OnnxCall& call) {
  const ValueId x = feature_rows(call, call.need(0, "X"));
  const i64 targets = small_ints({call.attrs.get_int("n_targets", 1)}, "n_targets", 1, 1)[0];
  const Forest f = read_forest(call, x);
  Weights w = read_weights(call, f, targets, "target");
  const std::string how = call.attrs.get_string("aggregate_function", "SUM");
  const std::map<std::string, const char*> reductions = {
      {"SUM", "ReduceSum"}, {"AVERAGE", "ReduceMean"}, {"MIN", "ReduceMin"}, {"MAX", "ReduceMax"}};
  const auto reduction = reductions.find(how);
  if (reduction == reductions.end()) fail("aggregate_function {} is not known", how);
  if ((how == "MIN" || how == "MAX") && !w.complete) fail("{} of leaves that do not give to all targets", how);
  const ValueId weights = call.constant(std::move(w.table));
  const ValueId sums = over_trees(call, rows_of(call, weights, leaves(call, x, f)), reduction->second);
  const Reals base = call.attrs.get_floats("base_values", {});
  if (!base.empty() && std::ssize(base) != targets) fail("{} base_values for {} targets", base.size(), targets);
  const ValueId y = plus_base(call, sums, base);
  const bool is_none = post_transform_of(call) == "NONE" || targets == 1;  // one number stays as it is
  return {is_none ? y : post_transform(call, y)};
}

// One score for two classes: it decides at 1/2 where it is a share, else at 0.
Outputs two_from_one(const OnnxCall& call, const ClassLabels& labels, ValueId totals, i64 id, bool is_share) {
  const Reals base = call.attrs.get_floats("base_values", {});
  if (std::ssize(base) > (id == 0 ? 1 : 0)) fail("{} base_values for one score, of class {}", base.size(), id);
  ValueId s = plus_base(call, slice(call, totals, 1, id, id + 1), base);
  const ValueId wins = call.emit1("Greater", {s, call.scalar(DType::f32, is_share ? 0.5 : 0)});
  const ValueId label = labels.at_index(call, call.reshape(call.cast(wins, DType::i64), {call.builder.shape(s)[0]}));
  if (id == 1) return {label, post_transform(call, totals)};
  const bool logistic = post_transform_of(call) == "LOGISTIC";
  ValueId other = is_share && !logistic ? call.emit1("Sub", {call.scalar(DType::f32, 1), s}) : call.emit1("Neg", {s});
  if (logistic) {
    other = call.emit1("Sigmoid", {other});
    s = call.emit1("Sigmoid", {s});
  }
  return {label, call.emit1("Concat", {other, s}, make_attrs({{"axis", i64{1}}}))};
}

Outputs classifier(OnnxCall& call) {
  const ValueId x = feature_rows(call, call.need(0, "X"));
  const ClassLabels labels(call, "classlabels_int64s");
  const Forest f = read_forest(call, x);
  Weights w = read_weights(call, f, labels.count(), "class");
  if (w.ids.empty()) fail("no leaf gives a weight");
  const bool one_score = labels.count() == 2 && w.ids.size() == 1;
  const ValueId weights = call.constant(std::move(w.table));
  ValueId scores = over_trees(call, rows_of(call, weights, leaves(call, x, f)), "ReduceSum");
  if (one_score) return two_from_one(call, labels, scores, *w.ids.begin(), w.all_positive);
  const Reals base = call.attrs.get_floats("base_values", {});
  if (!base.empty() && (labels.count() == 2 || std::ssize(base) != labels.count()))
    fail("{} base_values for {} classes", base.size(), labels.count());
  scores = plus_base(call, scores, base);
  ValueId candidates = scores;
  if (base.empty() && std::ssize(w.ids) < labels.count()) {  // a class that no leaf knows is never the label
    Tensor barred(TensorType{DType::f32, {labels.count()}});
    for (i64 k = 0; k < labels.count(); k++) barred.set(k, w.ids.contains(k) ? 0 : -HUGE_VAL);
    candidates = call.emit1("Add", {scores, call.constant(std::move(barred))});
  }
  return {labels.of_largest(call, candidates), post_transform(call, scores)};
}

constexpr std::string_view kClassifierAttrs =
    "base_values class_ids class_nodeids class_treeids class_weights classlabels_int64s classlabels_strings "
    "nodes_falsenodeids nodes_featureids nodes_hitrates nodes_missing_value_tracks_true nodes_modes nodes_nodeids "
    "nodes_treeids nodes_truenodeids nodes_values post_transform";
constexpr std::string_view kRegressorAttrs =
    "aggregate_function base_values n_targets nodes_falsenodeids nodes_featureids nodes_hitrates "
    "nodes_missing_value_tracks_true nodes_modes nodes_nodeids nodes_treeids nodes_truenodeids nodes_values "
    "post_transform target_ids target_nodeids target_treeids target_weights";
constexpr OnnxOp kOps[] = {
    {"ai.onnx.ml.TreeEnsembleClassifier", classifier, kClassifierAttrs, kClassLimits},
    {"ai.onnx.ml.TreeEnsembleRegressor", regressor, kRegressorAttrs, kPostLimits},
};

}  // namespace

std::span<const OnnxOp> tree_imports() { return kOps; }

}  // namespace mcc::frontend
