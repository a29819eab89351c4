// The simplifier's form of an integer expression: constant + sum of coefficient * atom, where an atom is a variable or
// an operation that is not linear, already simplified. Sums are kept sorted with each atom once, so equal sums are
// equal values.
//
// Addition and multiplication wrap, so a sum equals its expression modulo 2^width always. Where order matters
// (division, comparison) the sum must in addition stay within its type for all values of its atoms: range() says so.
#pragma once
#include <optional>
#include <vector>

#include "loop/loop_ops.h"

namespace mcc::loop {

struct Term {
  Expr atom;
  i64 coefficient = 1;
  Range range;  // of the atom
};

struct Sum {
  DType dtype = DType::i64;
  i64 constant = 0;
  std::vector<Term> terms;

  bool is_constant() const { return terms.empty(); }
};

i64 wrapping_mul(i64 a, i64 b);
int compare(const Expr& a, const Expr& b);       // a total order: constants, variables, loads, operations; 0 if equal
void normalize(Sum& sum);                        // sorts, joins equal atoms, drops zeros, wraps numbers to the type
void add_scaled(Sum& sum, Sum&& other, i64 by);  // not normalized afterwards
// a - b as a number, not wrapped to their type (the result is of type i64); nothing if that may not fit.
std::optional<Sum> difference(const Sum& a, const Sum& b);
Expr to_expr(const Sum& sum);
std::optional<Range> range(const Sum& sum);  // nothing if the value may wrap

}  // namespace mcc::loop
