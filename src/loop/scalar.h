// What each operation of a loop program does to single elements: the one definition that constant folding, the
// simplifier and the interpreter share, so that they cannot disagree.
//
// A Scalar holds one element. Integers and bool use `i`, always wrapped to the width of their type (u64: the same
// bits read as i64); floats use `f`, always a value of their type. f16 and bf16 are computed in float, f32 in float,
// and rounded after each operation.
#pragma once
#include "loop/loop.h"

namespace mcc::loop {

struct Scalar {
  i64 i = 0;
  double f = 0;
};

i64 wrap(DType dtype, i64 value);            // to the width of an integer type; bool: value != 0
double round_to(DType dtype, double value);  // to the nearest value of a float type
Scalar convert(DType from, DType to, Scalar value);

// op on operands of type `operand`: unary and binary operations, comparisons, logic. The result type follows from the
// operation: bool for comparisons and logic, else `operand`.
Scalar evaluate(ExprOp op, DType operand, Scalar a, Scalar b = {});
// What a store combines the old element and the value with; not for StoreOp::assign.
ExprOp operation(StoreOp op);
// buffer element `old` OP= value
Scalar accumulate(StoreOp op, DType dtype, Scalar old, Scalar value);

int arity(ExprOp op);           // number of arguments; -1: load
bool is_comparison(ExprOp op);  // lt le eq ne
bool is_logic(ExprOp op);       // arguments and result are bool
bool is_float_only(ExprOp op);  // defined on floats alone
bool is_int_only(ExprOp op);    // defined on integers alone
DType result_type(ExprOp op, DType operand);

}  // namespace mcc::loop
