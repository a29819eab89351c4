// Loop programs: what a kernel computes (before scheduling) and how (after). The one object that code generation,
// feature extraction, the simulator and the interpreter see.
//
// A Func has variables, buffers and statements. Semantics, in prose:
//  - A statement list runs in order. Loop runs its body for var = 0 .. extent-1; extents are numbers.
//    Loop kinds change how, never what: `parallel` iterations may run in any order on several threads, `vectorize` ones
//    as lanes of one vector operation, `unroll` ones are written out. Therefore iterations of a parallel or vectorized
//    loop must not depend on each other, except that a vectorized loop may accumulate into the same element (a
//    horizontal reduction, in any order).
//    Directly nested parallel loops form one parallel range.
//  - Store evaluates its value and then does buffer[index] = value, or buffer[index] = buffer[index] OP value for the
//    accumulating ops. Floating-point accumulation may be reassociated by schedules, and a*b+c may be fused.
//  - If runs one of two lists. Its condition has type bool.
//  - What a loop has `ahead` changes no values: at the start of each iteration those cache lines of a parameter are
//    asked for. They may lie beyond the buffer, which is harmless. Only serial loops have some.
//  - Indices are i64, one per dimension, always in bounds (a Func that reads outside is wrong, not undefined to us: the
//    interpreter reports it). Select and the boolean And/Or evaluate lazily, so a guarded load does not happen
//    outside its guard.
//  - Buffers do not overlap. A temp, local or reg buffer has no defined contents until stored to. local and reg
//    buffers belong to one iteration of the loops that enclose all their uses.
//  - Integer arithmetic wraps. div and mod on integers truncate as in C; division by zero gives 0 and n mod 0 gives n
//    (stated here so that nothing is undefined); floordiv and floormod round down. Float to integer casts saturate, NaN
//    gives 0.
//  - min and max hand NaN on. Comparisons with NaN are false, except `ne`.
//
// Algorithm form. Op lowerings write each block as a perfect nest of serial loops around one Store, blocks in order. A
// reduction block accumulates; its loops that do not occur in the store's index are its reduction axes; it
// is preceded by a block named "<block>.init" that assigns the start value over the spatial axes. Schedules
// (src/schedule) act on Funcs in this form. A nest that does not fit it (a scan, a scatter) is legal and is left as it
// is. A Loop whose body holds several nests (a recurrence over time) is a region: its nests are blocks of their own.
#pragma once
#include <string>
#include <variant>
#include <vector>

#include "graph/tensor.h"
#include "graph/types.h"

namespace mcc::loop {

enum class ExprOp : u8 {
  // leaves: constant (i for ints and bool, f for floats), variable (i = index in Func::vars),
  // load (i = buffer, args = index)
  constant,
  var,
  load,
  // arithmetic, both arguments and the result of one dtype
  add,
  sub,
  mul,
  div,
  mod,
  floordiv,
  floormod,
  min,
  max,
  pow,
  // comparison (result bool) and logic on bool
  lt,
  le,
  eq,
  ne,
  logical_and,
  logical_or,
  logical_not,
  // bits, on integers
  bit_and,
  bit_or,
  bit_xor,
  bit_not,
  shl,
  shr,
  // select(cond, a, b); cast to Expr::dtype
  select,
  cast,
  // unary functions of the argument's type
  neg,
  abs,
  sqrt,
  exp,
  log,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  asinh,
  acosh,
  atanh,
  erf,
  sigmoid,
  floor,
  ceil,
  round_even,
  trunc,
  sign,
  // float -> bool
  is_nan,
  is_inf,
};

std::string_view name(ExprOp op);

struct Expr {
  ExprOp op = ExprOp::constant;
  DType dtype = DType::i64;
  i64 i = 0;     // constant integer or bool; variable; buffer
  double f = 0;  // constant float
  std::vector<Expr> args;
  bool operator==(const Expr&) const = default;
};

enum class LoopKind : u8 { serial, parallel, vectorize, unroll };
enum class StoreOp : u8 { assign, add, mul, min, max, logical_and, logical_or, bit_xor };

struct Stmt;

// `lines` cache lines of a parameter from the element numbered `at` on (row-major; affine in the loops around).
constexpr i64 kLineBytes = 64;
constexpr i64 kMostLines = 256;  // of one Prefetch
struct Prefetch {
  int buffer = 0;
  Expr at;
  i64 lines = 1;
  bool operator==(const Prefetch&) const = default;
};

struct Loop {
  // Index in Func::vars; each loop of a Func has a variable of its own, except copies of one loop in tails. Loops
  // inside one another have different names; loops of different nests may share a name.
  int var = 0;
  i64 extent = 0;
  LoopKind kind = LoopKind::serial;
  std::vector<Stmt> body;
  std::vector<Prefetch> ahead = {};
  bool operator==(const Loop&) const;
};

struct Store {
  int buffer = 0;
  std::vector<Expr> index;
  Expr value;
  StoreOp op = StoreOp::assign;
  std::string block;  // names the statement across schedules: "conv", "conv.init", "relu"
  bool operator==(const Store&) const = default;
};

struct If {
  Expr condition;
  std::vector<Stmt> then_body, else_body;
  bool operator==(const If&) const;
};

struct Stmt {
  std::variant<Loop, Store, If> node;
  bool operator==(const Stmt&) const = default;
};

inline bool Loop::operator==(const Loop&) const = default;
inline bool If::operator==(const If&) const = default;

// input, constant, output: parameters, in the order they appear in Func::buffers. A constant is known at compile time.
// temp: memory of the kernel call; local: memory of one thread; reg: registers (all indices must become constants).
enum class Scope : u8 { input, constant, output, temp, local, reg };

// How a packed constant is laid out from its source, a row-major tensor of shape `source`. Dimension d of the
// packed buffer runs over `dims[d].axis` of the source in steps of `scale`: the element at packed index p is source
// element s with s[a] = sum over the d with dims[d].axis == a of p[d] * dims[d].scale; elements whose s lies outside
// the source are zero. Example: W[OC, IC] with 16-blocks of OC, [OC/16][IC][16]: dims = {{0,16},{1,1},{0,1}}.
struct PackDim {
  int axis = 0;
  i64 scale = 1;
  bool operator==(const PackDim&) const = default;
};
// With winograd = m > 0 it is not the source itself that is laid out, but its transform for F(m x m, 3 x 3): of weights
// [OC, IC, 3, 3] a tensor [m+2, m+2, OC, IC] (winograd.h).
struct Pack {
  Shape source;
  std::vector<PackDim> dims;  // one for each dimension of the buffer; empty: not packed
  i64 winograd = 0;
  bool operator==(const Pack&) const = default;
};

Shape laid_out(const Pack& pack);  // the shape of what the dims refer to

struct Buffer {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;  // row-major, dense
  Scope scope = Scope::temp;
  Pack pack;  // constants only
  bool operator==(const Buffer&) const = default;
};

struct Func {
  std::string name;
  std::vector<std::string> vars;
  std::vector<Buffer> buffers;
  std::vector<Stmt> body;

  const Buffer& buffer(i64 id) const { return buffers[at(id)]; }
  Buffer& buffer(i64 id) { return buffers[at(id)]; }
  bool operator==(const Func&) const = default;
};

inline bool is_param(Scope scope) {
  return scope == Scope::input || scope == Scope::constant || scope == Scope::output;
}
std::vector<int> params(const Func& func);  // buffer indices of the parameters, in order

// The packed form of a constant, whose row-major elements are those of pack.source; the result has buffer.shape.
Tensor pack_constant(const Buffer& buffer, const Tensor& source);

}  // namespace mcc::loop
