// Elementwise operators as rows of a table. Each says the same thing three times: as an expression for loop programs,
// as a function of doubles and as a function of exact integers, which together are the reference. Everything else
// (broadcasting, types, loops) is common code in elementwise.cc.
//
// f16 and bf16 are computed in f32 and rounded once at the end. Integers wrap; int128 holds any element and any sum or
// quotient of two exactly, so a reference need not care about width or sign.
#pragma once
#include <span>
#include <vector>

#include "ops/lib.h"

namespace mcc::ops {

using Exprs = const std::vector<Expr>&;
using Doubles = std::span<const double>;
using Wide = __int128;
using Wides = std::span<const Wide>;

enum class Takes : u8 { anything, numbers, floats, integers, booleans };
// Which inputs must share a type, and the type of the result.
enum class Gives : u8 { same, truth, named, chosen, first };
//   same:   all inputs of one type, so is the result
//   truth:  all inputs of one type, the result is bool
//   named:  the result's type is the attribute `to`
//   chosen: the first input is bool, the others and the result of one type (Where)
//   first:  inputs of any types, the result has the first one's (Pow)

struct Elementwise {
  std::string_view name;
  int inputs;  // kAnyNumber: one or more
  Takes takes;
  Gives gives;
  Expr (*expr)(const Node&, Exprs x);
  double (*on_doubles)(const Node&, Doubles x);  // null for operators on integers or bool only
  // Null: integers are computed as doubles, which saturate at the end.
  Wide (*on_integers)(const Node&, Wides x) = nullptr;
  void (*check)(const Node&) = nullptr;  // of the attributes; throws Error
};
constexpr int kAnyNumber = -1;

std::span<const Elementwise> unary_rows();
std::span<const Elementwise> binary_rows();

// A constant of x's type.
inline Expr like(const Expr& x, double value) { return loop::constant(x.dtype, value); }

}  // namespace mcc::ops
