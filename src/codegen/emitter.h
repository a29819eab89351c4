// The state while one function of a kernel is written as LLVM IR, shared by the emit_*.cc files. Private to this
// folder.
//
// Values. An expression becomes a Val: one scalar when it is the same for all lanes of the current vectorized loop,
// else one LLVM vector for each part of the loop. Parts are native vectors of the widest type the loop touches; the
// last one may be partial: then its width is the next power of two and the lanes from `active` on hold anything. f16
// and bf16 values are kept as float and rounded after each operation; bool is i1 in registers and a byte in memory.
#pragma once
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <map>
#include <optional>
#include <tuple>

#include "codegen/layout.h"
#include "target/target.h"

namespace mcc::codegen {

using llvm::Value;
using Parts = llvm::SmallVector<Value*, 4>;

struct Val {
  bool varying = false;
  Parts parts;  // one scalar, or as many vectors as the loop has parts
};

struct Part {
  i64 begin = 0;
  int width = 1, active = 1;
};

// The vectorized loop being emitted.
struct Lanes {
  int var = 0;
  i64 extent = 0;
  std::vector<Part> parts;
};

// Sums that a loop nest keeps per lane, to be combined once after it (Emitter::reduce_lanes).
struct PartialSums {
  const loop::Store* store = nullptr;
  std::vector<llvm::AllocaInst*> parts;
};

// What a loop variable is at this point: a number (unrolled), an SSA value, or the lane (plus v, unless that is null).
struct VarValue {
  enum Kind : u8 { unset, number, value, lane } kind = unset;
  i64 i = 0;
  Value* v = nullptr;
  int depth = 0;  // how many loops enclose it; orders the terms of an address
};

// An element address within a buffer: constant + lane * the lane variable + the terms, or a vector of element offsets
// on top.
struct Address {
  struct Term {
    Value* v;
    i64 factor;
    int order;
  };
  i64 constant = 0, lane = 0;
  std::vector<Term> terms;
  Parts scattered;       // per part <w x i64>, when the offset is not affine in the lane variable
  bool own_row = false;  // the lanes are the whole innermost row of a padded buffer: rounded-up accesses are safe
};

// Facts about the target machine that the IR depends on.
struct Isa {
  i64 vector_bytes = 16;
  bool masked_memory = false;
  bool x86 = false;
  bool half_conversions = false;  // fptrunc/fpext between half and float are instructions
};

class Emitter {
 public:
  Emitter(llvm::Module& module, const Isa& isa, const loop::Func& func, const Layout& layout, llvm::Function* function);

  llvm::IRBuilder<> b;

  // --- emit_stmt.cc
  void statements(const std::vector<loop::Stmt>& body);
  void statement(const loop::Stmt& stmt);
  // for (var = begin; var < end; var++) body(var), with at least one iteration.
  void counted_loop(Value* begin, Value* end, const std::function<void(Value*)>& body);
  void enter_home(const loop::Loop* home);  // fresh stack buffers for one iteration of their home
  void set_var(int var, VarValue value);
  const VarValue& var_value(int var) const { return vars_[at(var)]; }
  void set_buffer(int buffer, Value* base) { bases_[at(buffer)] = base; }
  void branch(const loop::If& branch, const std::function<void(const std::vector<loop::Stmt>&)>& emit);
  void serial_loop(const loop::Loop& l, const std::function<void()>& body);

  // --- emit_expr.cc
  Val expression(const loop::Expr& expr);
  Value* scalar(const loop::Expr& expr);  // of an expression that is the same for all lanes
  bool has_load(const loop::Expr& expr) const;

 private:
  friend class Scope;
  // --- emit_stmt.cc
  void loop_statement(const loop::Loop& l);
  void vector_loop(const loop::Loop& l);
  i64 native_lanes(const loop::Loop& l) const;
  const loop::Loop* lane_reduction(const loop::Loop& l) const;
  void reduce_lanes(const loop::Loop& l, const loop::Loop& lanes);
  llvm::AllocaInst* stack(llvm::Type* type);
  void vector_block(const loop::Loop& l, i64 lanes_at_once, Value* base, i64 extent);
  void store(const loop::Store& s);
  void add_to_partial(const loop::Store& s);
  void store_uniform(const loop::Store& s, const Address& address, const Val& value);
  void accumulate_scattered(const loop::Store& s, const Address& address, const Val& value);
  Value* accumulate(loop::StoreOp op, DType dtype, Value* old, Value* value);
  Value* horizontal(loop::StoreOp op, DType dtype, const Val& value);

  // --- emit_expr.cc
  Val branching_select(Value* condition, const std::function<Val()>& yes, const std::function<Val()>& no);
  Val lazy_select(const loop::Expr& cond, const std::function<Val()>& yes, const std::function<Val()>& no, bool pure);
  Val unary(const loop::Expr& expr);
  Val binary(const loop::Expr& expr);
  Val map(const Val& a, const std::function<Value*(Value*)>& f);
  Val map(const Val& a, const Val& c, const std::function<Value*(Value*, Value*)>& f);
  Val varying(const Val& a);  // splat to every part
  Value* lane_numbers(const Part& part);
  Parts conjunction(const Parts& mask, const Val& condition, bool negate);

  // --- transpose.cc
  const loop::Store* transposable(const loop::Loop& u) const;
  void transposed_store(const loop::Loop& u, const loop::Store& s);

  // --- memory.cc
  Address address(int buffer, const std::vector<loop::Expr>& index);
  void add_linear(const loop::Expr& expr, i64 scale, Address& into);
  std::optional<i64> number(const loop::Expr& expr) const;
  Value* uniform_pointer(int buffer, const Address& at, i64 lane_offset);
  Parts pointers(int buffer, const Address& at);  // per part <w x ptr>
  Val load(int buffer, const Address& at);
  Value* load_part(int buffer, const Address& at, const Part& part);
  Value* load_strided(int buffer, const Address& at, const Part& part);
  Value* load_packed(llvm::Type* type, Value* pointer, i64 element_bytes, const Part& part, bool whole);
  void prefetch(const loop::Prefetch& fetch, std::vector<llvm::Instruction*>& issued);
  void store_varying(int buffer, const Address& at, const Val& value);
  void store_packed(Value* value, Value* pointer, i64 element_bytes, const Part& part, bool whole);
  Value* from_memory(DType dtype, Value* raw);
  Value* to_memory(DType dtype, Value* value);
  llvm::Type* memory_type(DType dtype);
  Value* active_mask(const Part& part);

  const Isa& isa_;
  const loop::Func& func_;
  const Layout& layout_;
  llvm::Function* function_;
  std::vector<VarValue> vars_;
  std::vector<Value*> bases_;
  std::optional<Lanes> lanes_;
  Parts mask_;  // run-time mask of the lanes that may load, per part; empty: all active ones
  PartialSums partial_;
  int depth_ = 0;
  i64 emitted_ = 0;  // stores so far: unrolling is checked against a limit
  std::map<std::tuple<Value*, Value*, i64>, Value*> pointer_cache_;  // base + value * bytes, valid here
};

// What is computed inside a block that does not dominate what follows is forgotten at its end.
class Scope {
 public:
  explicit Scope(Emitter& emitter) : emitter_(emitter), saved_(emitter.pointer_cache_) {}
  ~Scope() { emitter_.pointer_cache_ = std::move(saved_); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  Emitter& emitter_;
  std::map<std::tuple<Value*, Value*, i64>, Value*> saved_;
};

std::vector<Part> split_lanes(i64 extent, i64 native);  // into native vectors, the last one perhaps partial

// --- arith.cc: the meaning of operations on values of one dtype (scalars or vectors alike)
llvm::Type* value_type(llvm::LLVMContext& context, DType dtype);
llvm::Type* widened(llvm::Type* scalar, const Value* like);  // scalar, or a vector of it as long as `like`
Value* float_constant(llvm::Type* type, double value);
Value* int_constant(llvm::Type* type, i64 value);
Value* round_narrow(llvm::IRBuilder<>& b, const Isa& isa, DType dtype, Value* value);
Value* arithmetic(llvm::IRBuilder<>& b, const Isa& isa, loop::ExprOp op, DType dtype, Value* x, Value* y,
                  bool non_negative);
Value* compare(llvm::IRBuilder<>& b, loop::ExprOp op, DType dtype, Value* x, Value* y);
Value* convert(llvm::IRBuilder<>& b, const Isa& isa, DType from, DType to, Value* value);

// --- narrow.cc: 16-bit floats
Value* half_to_float(llvm::IRBuilder<>& b, const Isa& isa, Value* bits);
Value* float_to_half(llvm::IRBuilder<>& b, const Isa& isa, Value* value);
Value* bf16_to_float(llvm::IRBuilder<>& b, Value* bits);
Value* float_to_bf16(llvm::IRBuilder<>& b, Value* value);

// --- math.cc: unary functions
Value* math_function(llvm::IRBuilder<>& b, const Isa& isa, loop::ExprOp op, DType dtype, Value* x);
Value* call_libm(llvm::IRBuilder<>& b, llvm::StringRef name, Value* x, Value* y = nullptr);

// --- emit_func.cc
void emit_kernel(llvm::Module& module, const Isa& isa, const loop::Func& func, const std::string& symbol);

}  // namespace mcc::codegen
