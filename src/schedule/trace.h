// Schedules as plain data. A Step is one fully decided transformation; a Trace is the list of them: it is what is
// measured, logged, replayed and baked. apply() is pure: the same Func and Trace give the same scheduled Func or the
// same reason.
//
// Blocks are named by Store::block, loops by their variable's name within the block ("m"; split makes "m.0", "m.1",
// ...). Text form, one step each, joined by "; ":
//   split conv m [4,12]         loop m becomes m.0 (whatever remains, rounded up), m.1 of 4, m.2 of 12. Extents need
//                               not divide: the generator makes a main part and tails, each with constant extents
//   share conv m.0 [98]         loop m.0 over tiles becomes m.0.0 over shares of 98 elements and m.0.1 over a share's
//                               tiles, of which the last may be narrower (steps/share.cc)
//   reorder conv m.0 n.0 k m.1  the named loops take the places they hold together, in this order
//   mark conv m.0 parallel      or vectorize, unroll, serial
//   inline pad                  a producer's expression replaces its loads in all consumers
//   compute_at conv relu m.1    the part of conv that one iteration of relu's loop m.1 needs is computed there
//   scope conv reg              where a computed-at block's buffer lives: reg, local or temp
//   cache_write conv            conv now writes a new buffer; new block conv.out copies it to the old one
//   cache_read conv x [1,0]     conv now reads a copy of buffer x, made by new block conv.x; the ints are the order of
//                               the copy's dimensions
//   cache_access conv x k m     conv now reads what it reads of x from a copy with one dimension for each axis of conv
//                               that the read uses, in this order, made by new block conv.x
//   pack conv w [0:16,1:1,0:1]  constant w is re-laid as loop.h Pack (axis:scale for each new dimension)
//   prefetch conv w [0,8192]    lines of constant w are asked for before they are read: what the reduction reads that
//                               many bytes later; 0: the part that comes after this one was used for all rows
//   rfactor sum j.1             sum over j.1 last: new block sum.rf keeps j.1 as a spatial axis
//   parts conv k [4]            the sum over k in 4 equal parts: new block conv.parts has the axis `part`, over which
//                               conv then sums
//   strips pool ky             the reduction over the window's rows first, shared by neighbouring windows: new block
//                               pool.strips (steps/strips.cc)
//   skip conv pad               products with what pad puts around its input are left out of conv's sum, and pad is no
//                               longer made (steps/skip.cc)
//   winograd conv [4]           a 3x3 convolution in tiles of 4x4 outputs: new blocks conv.row_in, conv.in, conv.mul
//                               and conv.row_out (steps/winograd.cc)
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "loop/loop.h"

namespace mcc {

enum class StepKind : u8 {
  split,
  reorder,
  mark,
  inline_block,
  compute_at,
  scope,
  cache_write,
  cache_read,
  pack,
  rfactor,
  winograd,
  prefetch,
  parts,
  cache_access,
  strips,
  skip,
  share
};

struct Step {
  StepKind kind = StepKind::split;
  std::string block;
  // Loops, buffer or block names, and the word of mark/scope: in the order of the text form.
  std::vector<std::string> loops;
  std::vector<i64> ints;
  bool operator==(const Step&) const = default;
};
using Trace = std::vector<Step>;

std::string_view name(StepKind kind);  // its word in the text form
std::string to_string(const Step& step);
std::string to_string(const Trace& trace);
Step parse_step(std::string_view text);    // throws Error
Trace parse_trace(std::string_view text);  // throws Error

struct Applied {
  std::optional<loop::Func> func;
  std::string why_not;  // when there is none; starts with a short kind ("split: ", "registers: ") that the tuner counts
};
Applied apply(const loop::Func& func, const Trace& trace);

}  // namespace mcc
