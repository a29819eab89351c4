// Writing loop programs by hand: expression builders that fold constants at once, and FuncBuilder for op lowerings.
//
//   FuncBuilder b("relu");
//   int x = b.input("x", DType::f32, {4, 8}), y = b.output("y", DType::f32, {4, 8});
//   b.block("relu", {4, 8}, y, [&](const Vars& v) { return max(b.load(x, v), const_float(0)); });
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "loop/loop.h"

namespace mcc::loop {

Expr constant(DType dtype, double value);  // rounded to the type; ints: truncated
Expr const_int(i64 value, DType dtype = DType::i64);
Expr const_float(double value, DType dtype = DType::f32);
Expr var(int id);
Expr unary(ExprOp op, Expr a);
Expr binary(ExprOp op, Expr a, Expr b);
Expr cast(DType to, Expr a);
Expr select(Expr cond, Expr a, Expr b);
Expr load(const Buffer& buffer, int id, std::vector<Expr> index);

Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);  // div
Expr operator<(Expr a, Expr b);
Expr operator&&(Expr a, Expr b);
Expr operator||(Expr a, Expr b);
Expr operator+(Expr a, i64 b);
Expr operator-(Expr a, i64 b);
Expr operator*(Expr a, i64 b);
Expr floordiv(Expr a, i64 b);
Expr floormod(Expr a, i64 b);
Expr min(Expr a, Expr b);
Expr max(Expr a, Expr b);
bool is_const(const Expr& e, i64 value);   // an integer constant of that value
std::optional<i64> as_int(const Expr& e);  // the value of an integer constant

using Vars = std::vector<Expr>;  // the loop variables of a nest, outermost first

class FuncBuilder {
 public:
  explicit FuncBuilder(std::string name);
  int input(std::string name, DType dtype, Shape shape);
  int constant_input(std::string name, DType dtype, Shape shape);
  int output(std::string name, DType dtype, Shape shape);
  int temp(std::string name, DType dtype, Shape shape);
  Expr load(int buffer, std::vector<Expr> index) const;

  // Names the loops of the next block (reduce: spatial, then reduction axes). Otherwise they are i0, i1, ...
  FuncBuilder& axes(std::vector<std::string> names);

  // A perfect nest over `extents` that assigns value(vars) to buffer[vars], or to buffer[index(vars)].
  void block(const std::string& name, const Shape& extents, int buffer, const std::function<Expr(const Vars&)>& value);
  void block_at(const std::string& name, const Shape& extents, int buffer,
                const std::function<std::vector<Expr>(const Vars&)>& index,
                const std::function<Expr(const Vars&)>& value, StoreOp op = StoreOp::assign);
  // A reduction block with its init: spatial axes (they index the buffer) and reduction axes.
  void reduce(const std::string& name, const Shape& spatial, const Shape& reduction, int buffer, StoreOp op, Expr init,
              const std::function<Expr(const Vars& s, const Vars& r)>& value);
  // A serial loop named `name` around the blocks that `body` adds (a recurrence); body gets the loop variable.
  void region(const std::string& name, i64 extent, const std::function<void(Expr)>& body);

  Func take();

 private:
  Vars new_vars(size_t count);  // named by axes_
  void nest(const Vars& vars, const Shape& extents, Store store);

  Func func_;
  std::vector<Stmt> body_;  // of the innermost open region
  std::vector<std::string> axes_;
};

// The start value of an accumulation: 0, 1, +inf or the largest integer, ...
Expr identity(StoreOp op, DType dtype);

}  // namespace mcc::loop
