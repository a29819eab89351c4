// Expressions -> Vals (emitter.h). Select and the boolean And/Or are lazy where it matters, that is where an argument
// loads: a condition that is the same for all lanes becomes a branch, one that differs becomes a mask for the loads.
#include <algorithm>

#include "codegen/emitter.h"
#include "loop/scalar.h"

namespace mcc::codegen {

using llvm::Type;
using loop::Expr;
using loop::ExprOp;

Emitter::Emitter(llvm::Module& module, const Isa& isa, const loop::Func& func, const Layout& layout,
                 llvm::Function* function)
    : b(module.getContext()),
      isa_(isa),
      func_(func),
      layout_(layout),
      function_(function),
      vars_(func.vars.size()),
      bases_(func.buffers.size()) {
  b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function));
  llvm::FastMathFlags flags;
  flags.setAllowContract();
  b.setFastMathFlags(flags);
}

Val Emitter::map(const Val& a, const std::function<Value*(Value*)>& f) {
  Val result{a.varying, {}};
  for (Value* part : a.parts) result.parts.push_back(f(part));
  return result;
}

Val Emitter::map(const Val& a, const Val& c, const std::function<Value*(Value*, Value*)>& f) {
  if (!a.varying && !c.varying) return {false, {f(a.parts[0], c.parts[0])}};
  const Val x = varying(a), y = varying(c);
  Val result{true, {}};
  for (size_t p = 0; p < x.parts.size(); p++) result.parts.push_back(f(x.parts[p], y.parts[p]));
  return result;
}

Val Emitter::varying(const Val& a) {
  if (a.varying) return a;
  Val result{true, {}};
  for (const Part& part : lanes_->parts)
    result.parts.push_back(b.CreateVectorSplat(static_cast<unsigned>(part.width), a.parts[0]));
  return result;
}

bool Emitter::has_load(const Expr& expr) const {
  return expr.op == ExprOp::load || std::ranges::any_of(expr.args, [&](const Expr& arg) { return has_load(arg); });
}

Value* Emitter::scalar(const Expr& expr) {
  const Val value = expression(expr);
  MCC_CHECK(!value.varying);
  return value.parts[0];
}

Value* Emitter::lane_numbers(const Part& part) {
  llvm::SmallVector<llvm::Constant*, 16> numbers;
  for (int lane = 0; lane < part.width; lane++) numbers.push_back(b.getInt64(static_cast<u64>(part.begin + lane)));
  return llvm::ConstantVector::get(numbers);
}

Parts Emitter::conjunction(const Parts& mask, const Val& condition, bool negate) {
  Parts result;
  for (size_t p = 0; p < condition.parts.size(); p++) {
    Value* bit = negate ? b.CreateNot(condition.parts[p]) : condition.parts[p];
    result.push_back(mask.empty() ? bit : b.CreateAnd(mask[p], bit));
  }
  return result;
}

// The value of one side or the other, of which only one is computed.
Val Emitter::branching_select(Value* condition, const std::function<Val()>& yes, const std::function<Val()>& no) {
  llvm::LLVMContext& context = b.getContext();
  auto* then_block = llvm::BasicBlock::Create(context, "then", function_);
  auto* else_block = llvm::BasicBlock::Create(context, "else", function_);
  auto* join = llvm::BasicBlock::Create(context, "join", function_);
  b.CreateCondBr(condition, then_block, else_block);
  const auto side = [&](llvm::BasicBlock*& block, const std::function<Val()>& emit) {
    const Scope scope(*this);
    b.SetInsertPoint(block);
    const Val value = emit();
    block = b.GetInsertBlock();
    return value;
  };
  Val then_value = side(then_block, yes), else_value = side(else_block, no);
  const bool is_varying = then_value.varying || else_value.varying;
  const auto leave = [&](llvm::BasicBlock* block, Val& value) {
    b.SetInsertPoint(block);
    if (is_varying) value = varying(value);
    b.CreateBr(join);
  };
  leave(then_block, then_value);
  leave(else_block, else_value);
  b.SetInsertPoint(join);
  Val result{is_varying, {}};
  for (size_t p = 0; p < then_value.parts.size(); p++) {
    llvm::PHINode* phi = b.CreatePHI(then_value.parts[p]->getType(), 2);
    phi->addIncoming(then_value.parts[p], then_block);
    phi->addIncoming(else_value.parts[p], else_block);
    result.parts.push_back(phi);
  }
  return result;
}

// `pure`: neither side loads, so both may be evaluated.
Val Emitter::lazy_select(const Expr& cond, const std::function<Val()>& yes, const std::function<Val()>& no, bool pure) {
  const Val condition = expression(cond);
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition.parts[0]); known && !condition.varying) {
    return known->isOne() ? yes() : no();
  }
  if (condition.varying) {
    const Parts outer = mask_;
    if (!pure) mask_ = conjunction(outer, condition, false);
    const Val a = varying(yes());
    if (!pure) mask_ = conjunction(outer, condition, true);
    const Val c = varying(no());
    mask_ = outer;
    Val result{true, {}};
    for (size_t p = 0; p < a.parts.size(); p++)
      result.parts.push_back(b.CreateSelect(condition.parts[p], a.parts[p], c.parts[p]));
    return result;
  }
  if (!pure) return branching_select(condition.parts[0], yes, no);
  const Val a = yes();
  return map(a, no(), [&](Value* x, Value* y) { return b.CreateSelect(condition.parts[0], x, y); });
}

namespace {

// Integer expressions that cannot be negative because of what they are made of: divisions of them are cheaper.
bool non_negative(const Expr& e) {
  const auto all = [&] { return std::ranges::all_of(e.args, non_negative); };
  switch (e.op) {
    case ExprOp::constant: return e.i >= 0;
    case ExprOp::var: return true;
    case ExprOp::add:
    case ExprOp::mul: return e.dtype == DType::i64 && all();  // indices do not overflow
    case ExprOp::min:
    case ExprOp::div:
    case ExprOp::floordiv:
    case ExprOp::mod: return all();
    case ExprOp::max: return std::ranges::any_of(e.args, non_negative);
    case ExprOp::floormod: return e.args[1].op == ExprOp::constant && e.args[1].i > 0;
    default: return false;
  }
}

}  // namespace

Val Emitter::binary(const Expr& expr) {
  const DType dtype = expr.args[0].dtype;
  const Val x = expression(expr.args[0]), y = expression(expr.args[1]);
  if (loop::is_comparison(expr.op)) {
    return map(x, y, [&](Value* p, Value* q) { return compare(b, expr.op, dtype, p, q); });
  }
  const bool natural = dtype == DType::i64 && non_negative(expr.args[0]) && non_negative(expr.args[1]);
  return map(x, y, [&](Value* p, Value* q) { return arithmetic(b, isa_, expr.op, dtype, p, q, natural); });
}

Val Emitter::unary(const Expr& expr) {
  const DType dtype = expr.args[0].dtype;
  const Val x = expression(expr.args[0]);
  if (expr.op == ExprOp::cast) return map(x, [&](Value* p) { return convert(b, isa_, dtype, expr.dtype, p); });
  if (expr.op == ExprOp::is_nan) return map(x, [&](Value* p) { return b.CreateFCmpUNO(p, p); });
  if (expr.op == ExprOp::is_inf) {
    return map(x, [&](Value* p) {
      Value* magnitude = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, p);
      return b.CreateFCmpOEQ(magnitude, llvm::ConstantFP::getInfinity(p->getType()));
    });
  }
  return map(x, [&](Value* p) { return math_function(b, isa_, expr.op, dtype, p); });
}

Val Emitter::expression(const Expr& expr) {
  switch (expr.op) {
    case ExprOp::constant: {
      Type* type = value_type(b.getContext(), expr.dtype);
      return {false, {is_float(expr.dtype) ? float_constant(type, expr.f) : int_constant(type, expr.i)}};
    }
    case ExprOp::var: {
      const VarValue& value = var_value(static_cast<int>(expr.i));
      MCC_CHECK(value.kind != VarValue::unset);
      if (value.kind == VarValue::number) return {false, {b.getInt64(static_cast<u64>(value.i))}};
      if (value.kind == VarValue::value) return {false, {value.v}};
      Val result{true, {}};
      for (const Part& part : lanes_->parts) {
        Value* numbers = lane_numbers(part);
        if (value.v) numbers = b.CreateAdd(numbers, b.CreateVectorSplat(static_cast<unsigned>(part.width), value.v));
        result.parts.push_back(numbers);
      }
      return result;
    }
    case ExprOp::load: return load(static_cast<int>(expr.i), address(static_cast<int>(expr.i), expr.args));
    case ExprOp::select:
      return lazy_select(
          expr.args[0], [&] { return expression(expr.args[1]); }, [&] { return expression(expr.args[2]); },
          !has_load(expr.args[1]) && !has_load(expr.args[2]));
    case ExprOp::logical_and:
    case ExprOp::logical_or: {
      if (!has_load(expr.args[1])) return binary(expr);
      const bool is_and = expr.op == ExprOp::logical_and;
      const auto known = [&]() -> Val { return {false, {b.getInt1(!is_and)}}; };
      const auto second = [&] { return expression(expr.args[1]); };
      return is_and ? lazy_select(expr.args[0], second, known, false) : lazy_select(expr.args[0], known, second, false);
    }
    default: return expr.args.size() == 1 ? unary(expr) : binary(expr);
  }
}

}  // namespace mcc::codegen
