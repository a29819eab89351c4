// The rules of simplify_algebra, and movement nodes emitted in their simplest form for other passes.
#pragma once
#include "passes/rewrite.h"

namespace mcc {

// Inputs of one Concat at most: each is a stage of its kernel. Joins of joins are written in place, without copies.
constexpr size_t kMaxJoined = 256;

// Replaces the node by x if that has the node's type.
inline bool become(Rewriter& rw, const Node& node, ValueId x) {
  if (rw.type(x) != rw.type(node.out[0])) return false;
  rw.replace(node.out[0], x);
  return true;
}

// Each returns true when it has replaced the node's outputs; the node's inputs are in the new graph.
bool simplify_arithmetic(Rewriter& rw, const Node& node);
bool simplify_movement(Rewriter& rw, const Node& node);
bool simplify_exchange(Rewriter& rw, const Node& node);

// x reshaped or transposed: merges with what made x, is x itself when nothing moves, and a transposition that moves
// only unit dimensions is a Reshape.
ValueId reshape(Rewriter& rw, ValueId x, Shape shape);
ValueId transpose(Rewriter& rw, ValueId x, const Perm& perm);

}  // namespace mcc
