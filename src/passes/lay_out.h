// Values that exist in another order of dimensions than the graph says, and how each operator works on such values.
#pragma once
#include <map>
#include <optional>

#include "passes/simplify.h"

namespace mcc {

// A value v of the old graph as v = Transpose(u, perm) with u a value of the new graph. perm may be the identity.
struct Placed {
  ValueId u = kNone;
  Perm perm;
};

// Where each old value is. The value itself, in its own order, is only made when somebody asks for it, once.
class Places {
 public:
  Places(Rewriter& rewriter, const Graph& old);

  Rewriter& rw;

  bool is_moved(ValueId v) const { return v != kNone && placed_[at(v)].u != kNone; }
  Placed of(ValueId v) const;
  ValueId plain(ValueId v);                       // in its own order; kNone stays
  ValueId in_order(ValueId v, const Perm& perm);  // the u of v = Transpose(u, perm)
  // The same for an operand that may have fewer dimensions and be broadcast.
  ValueId aligned(ValueId v, const Perm& perm);
  void put(ValueId v, const Placed& placed);  // v's new place
  // Only elementwise operators lie between v and the graph's outputs.
  bool leads_out(ValueId v) const { return leads_out_[at(v)]; }

 private:
  std::vector<Placed> placed_;
  std::vector<ValueId> plain_;
  std::map<std::pair<ValueId, Perm>, ValueId> ordered_;
  std::vector<bool> leads_out_;
};

Perm channels_first_of_last(i64 rank);  // v[N,C,...] = Transpose(u[N,...,C], this)

// v transposed or reshaped without moving data where its dimensions allow it.
Placed transposed(const Placed& x, const Perm& perm);
Placed reshaped(Rewriter& rw, const Placed& x, Shape shape);

// lay_out_ops.cc: the node done on moved values; false if it must see its inputs in their own order.
bool lay_out_node(Places& places, const Node& node);

}  // namespace mcc
