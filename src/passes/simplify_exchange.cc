// Nodes that change places, so that less is moved or fewer kernels are needed:
//  - An elementwise node of one value, behind a Transpose or Reshape of what a kernel makes, goes before it: there it
//    ends that kernel, behind the movement it would often be one of its own.
//  - A Transpose of a Concat whose parts are computed elementwise goes to the parts: they are then written to where
//  they
//    belong at once.
// What else reads the values in between would need both forms, so there must be no other reader.
#include <algorithm>

#include "passes/simplify.h"

namespace mcc {
namespace {

FuseKind kind_of(const Node& node) {
  const OpDef* op = find_op(node.op);
  return op ? op->fuse : FuseKind::opaque;
}

// The input that is no constant of one element, if there is just one and the result has its shape; else nothing.
std::optional<size_t> only_operand(Rewriter& rw, const Node& node) {
  std::optional<size_t> operand;
  for (size_t i = 0; i < node.in.size(); i++) {
    if (node.in[i] == kNone) return std::nullopt;
    const Tensor* constant = rw.constant(node.in[i]);
    if (constant && constant->type.shape.empty()) continue;
    if (operand) return std::nullopt;
    operand = i;
  }
  const bool fits = operand && node.out.size() == 1 && rw.shape(node.in[*operand]) == rw.shape(node.out[0]);
  return fits ? operand : std::nullopt;
}

bool elementwise_before_movement(Rewriter& rw, const Node& node) {
  if (kind_of(node) != FuseKind::elementwise) return false;
  const std::optional<size_t> operand = only_operand(rw, node);
  if (!operand) return false;
  std::vector<Node> movements;  // outermost first
  ValueId x = node.in[*operand];
  for (const Node* maker = rw.maker(x); maker && is_op(*maker, {"Transpose", "Reshape"}) && rw.uses(x) == 1;
       maker = rw.maker(x)) {
    movements.push_back(*maker);
    x = maker->in[0];
  }
  const Node* source = rw.maker(x);
  if (movements.empty() || !source || rw.uses(x) != 1 || source->out.size() != 1) return false;
  if (kind_of(*source) != FuseKind::anchor && kind_of(*source) != FuseKind::elementwise) return false;
  std::vector<ValueId> in = node.in;
  in[*operand] = x;
  ValueId result = rw.emit(node.op, std::move(in), node.attrs);
  for (auto movement = movements.rbegin(); movement != movements.rend(); ++movement)
    result = movement->op == "Transpose" ? transpose(rw, result, movement->attrs.get_ints("perm"))
                                         : reshape(rw, result, movement->attrs.get_ints("shape"));
  rw.replace(node.out[0], result);
  return true;
}

// A product reads such a transposition in place.
bool swaps_rows_and_columns(const Perm& perm) {
  Perm want = perm;
  std::sort(want.begin(), want.end());
  std::swap(want.end()[-1], want.end()[-2]);
  return perm == want;
}

bool parts_before_transpose(Rewriter& rw, const Node& node) {
  if (node.op != "Transpose") return false;
  const Node* join = rw.maker(node.in[0], "Concat");
  const Perm perm = node.attrs.get_ints("perm");
  if (!join || rw.uses(node.in[0]) != 1 || swaps_rows_and_columns(perm)) return false;
  const auto is_computed = [&rw](ValueId v) {
    const Node* maker = rw.maker(v);
    return maker && kind_of(*maker) == FuseKind::elementwise;
  };
  if (std::none_of(join->in.begin(), join->in.end(), is_computed)) return false;
  const std::vector<ValueId> old_parts = join->in;
  const i64 axis = normalize_axis(join->attrs.get_int("axis"), static_cast<i64>(perm.size()));
  std::vector<ValueId> parts;
  for (const ValueId v : old_parts) parts.push_back(transpose(rw, v, perm));
  const i64 moved_axis = std::find(perm.begin(), perm.end(), axis) - perm.begin();
  rw.replace(node.out[0], rw.emit("Concat", std::move(parts), attrs({{"axis", moved_axis}})));
  return true;
}

}  // namespace

bool simplify_exchange(Rewriter& rw, const Node& node) {
  return elementwise_before_movement(rw, node) || parts_before_transpose(rw, node);
}

}  // namespace mcc
