// Random small graphs: the passes keep what they compute, and so do the fused kernels that they are lowered to. A
// failure names its seed; the graph of a seed is always the same.
#include "base/rng.h"
#include "unit/passes_run.h"

namespace mcc {
namespace {

// Grows a graph node by node from values of rank 4 (images) and below.
class Grower {
 public:
  explicit Grower(u64 seed) : rng_(seed) {}

  Graph run() {
    for (int i = 0; i < 2; i++) {
      graph_.inputs.push_back(graph_.add_value(fmt::format("x{}", i), {DType::f32, {1 + rng_.below(2), 4, 6, 6}}));
      pool_.push_back(graph_.inputs.back());
    }
    const i64 nodes = 4 + rng_.below(14);
    for (i64 i = 0; i < nodes; i++) grow();
    graph_.outputs.push_back(pool_.back());
    if (rng_.below(2) == 0) graph_.outputs.push_back(rng_.pick(pool_));
    return std::move(graph_);
  }

 private:
  Rng rng_;
  Graph graph_;
  std::vector<ValueId> pool_;

  using Ints = std::vector<i64>;
  const Shape& shape(ValueId v) const { return graph_.values[static_cast<size_t>(v)].type.shape; }

  Attrs attrs(std::initializer_list<std::pair<std::string_view, AttrValue>> items) const {
    Attrs result;
    for (const auto& [name, value] : items) result.set(name, value);
    return result;
  }

  ValueId constant(Shape shape) {
    Tensor tensor({DType::f32, std::move(shape)});
    for (i64 i = 0; i < tensor.size(); i++) tensor.set(i, static_cast<double>(rng_.below(9) - 4) / 4);
    return graph_.add_constant("c", std::move(tensor));
  }

  void add(std::string op, std::vector<ValueId> in, Attrs node_attrs = {}, size_t outputs = 1) {
    Node node{std::move(op), fmt::format("n{}", graph_.nodes.size()), std::move(in), std::vector<ValueId>(outputs, 0),
              std::move(node_attrs)};
    std::vector<TensorType> in_types;
    for (const ValueId v : node.in) in_types.push_back(graph_.values[static_cast<size_t>(v)].type);
    std::vector<TensorType> types = infer_types(node, in_types);
    for (size_t i = 0; i < outputs; i++) {
      node.out[i] = graph_.add_value(fmt::format("v{}", graph_.values.size()), std::move(types[i]));
      pool_.push_back(node.out[i]);
    }
    graph_.nodes.push_back(std::move(node));
  }

  ValueId same_shape_as(ValueId x) {
    for (int tries = 0; tries < 8; tries++) {
      const ValueId other = rng_.pick(pool_);
      if (shape(other) == shape(x)) return other;
    }
    return x;
  }

  void grow() {
    const ValueId x = rng_.below(3) == 0 ? rng_.pick(pool_) : pool_.back();
    const Shape s = shape(x);
    const auto rank = static_cast<i64>(s.size());
    const i64 axis = rank > 0 ? rng_.below(rank) : 0, extent = rank > 0 ? s[static_cast<size_t>(axis)] : 1;
    switch (rng_.below(13)) {
      case 0: return add(rng_.pick(std::vector<std::string>{"Relu", "Sigmoid", "Neg", "Abs", "Identity", "Tanh"}), {x});
      case 1: return add(rng_.pick(std::vector<std::string>{"Add", "Sub", "Mul", "Max"}), {x, same_shape_as(x)});
      case 2: return add(rng_.below(2) ? "Mul" : "Add", {x, constant(rank == 4 ? Shape{s[1], 1, 1} : Shape{})});
      case 3: {
        Ints perm(s.size());
        for (size_t d = 0; d < perm.size(); d++) perm[d] = static_cast<i64>(d);
        rng_.shuffle(perm);
        return add("Transpose", {x}, attrs({{"perm", perm}}));
      }
      case 4: {
        if (rank < 2) return;
        Shape merged = s;
        const auto d = static_cast<size_t>(rng_.below(rank - 1));
        merged[d] *= merged[d + 1];
        merged.erase(merged.begin() + static_cast<i64>(d) + 1);
        return add("Reshape", {x}, attrs({{"shape", merged}}));
      }
      case 5: {
        if (rank < 1 || rank > 4 || extent % 2 != 0) return;
        Shape split = s;
        split[static_cast<size_t>(axis)] = 2;
        split.insert(split.begin() + axis + 1, extent / 2);
        return add("Reshape", {x}, attrs({{"shape", split}}));
      }
      case 6: return rank ? add("Concat", {x, same_shape_as(x)}, attrs({{"axis", axis}})) : void();
      case 7:
        if (extent < 2) return;
        return add("Split", {x}, attrs({{"axis", axis}, {"split", Ints{1, extent - 1}}}), 2);
      case 8:
        if (extent < 2) return;
        return add("Slice", {x},
                   attrs({{"axes", Ints{axis}}, {"ends", Ints{extent}}, {"starts", Ints{1}}, {"steps", Ints{1}}}));
      case 9: return rank ? add("Softmax", {x}, attrs({{"axis", axis}})) : void();
      case 10:
        return rank ? add("ReduceMean", {x}, attrs({{"axes", Ints{axis}}, {"keepdims", rng_.below(2)}})) : void();
      case 11: {
        if (rank != 4) return;
        const i64 side = s[2] >= 3 && s[3] >= 3 ? 1 + 2 * rng_.below(2) : 1;
        const Attrs window = attrs({{"dilations", Ints{1, 1}},
                                    {"group", i64{1}},
                                    {"kernel_shape", Ints{side, side}},
                                    {"pads", Ints{side / 2, side / 2, side / 2, side / 2}},
                                    {"strides", Ints{1, 1}}});
        return add("Conv", {x, constant({3, s[1], side, side}), constant({3})}, window);
      }
      default:
        if (rank != 4 || s[2] < 2 || s[3] < 2) return;
        return add(rng_.below(2) ? "MaxPool" : "AveragePool", {x},
                   attrs({{"kernel_shape", Ints{2, 2}}, {"pads", Ints{0, 0, 0, 0}}, {"strides", Ints{2, 2}}}));
    }
  }
};

TEST(RandomGraphs, PassesAndKernelsKeepTheResult) {
  for (u64 seed = 0; seed < 150; seed++) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Graph graph = Grower(seed).run();
    expect_same(graph, run_passes(graph), 1e-4);
    expect_kernels(graph);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace mcc
