// The movement family: type rules, lowering to one block that is one load, and evaluation of the rows of
// movement_rows.cc; together with the operators of movement_join.cc.
#include "ops/movement.h"
#include "base/text.h"

namespace mcc {

namespace {

using namespace ops;

const MoveRow& row_of(const Node& node) {
  for (const MoveRow& row : move_rows())
    if (row.name == node.op) return row;
  fail("{} is not a movement", node.op);
}

std::vector<TensorType> infer(const Node& node, Types in) {
  return {{in[0].dtype, row_of(node).shape(node, in[0].shape)}};
}

loop::Func lower(const Node& node, Types in, Types out) {
  const MoveRow& row = row_of(node);
  std::string name = lower_case(node.op);
  FuncBuilder b(name);
  int x = b.input("x", in[0].dtype, in[0].shape), y = b.output("y", out[0].dtype, out[0].shape);
  Move move{node, in[0].shape, out[0].shape};
  const std::vector<size_t> order = loop_order(node, out[0].shape.size());
  Shape extents;
  for (const size_t axis : order) extents.push_back(out[0].shape[axis]);
  const auto index = [&](const Vars& loops) {
    Vars v(loops);
    for (size_t l = 0; l < order.size(); l++) v[order[l]] = loops[l];
    return v;
  };
  b.block_at(name, extents, y, index, [&](const Vars& loops) { return b.load(x, row.source(move, index(loops))); });
  return b.take();
}

void reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  const MoveRow& row = row_of(node);
  Move move{node, in[0]->type.shape, out[0].type.shape};
  move_elements(*in[0], out[0], [&](const Index& v) { return row.source_of(move, v); });
}

}  // namespace

std::span<const OpDef> movement_ops() {
  static const std::vector<OpDef> ops = [] {
    std::vector<OpDef> made(join_ops().begin(), join_ops().end());
    for (const MoveRow& row : move_rows()) made.push_back({row.name, row.fuse, 1, 1, infer, lower, reference});
    return made;
  }();
  return ops;
}

}  // namespace mcc
