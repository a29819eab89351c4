// The interpreter: what a loop program means, run slowly. Every scheduled Func and every kernel is compared with it.
//
// A Func is first compiled to trees in arrays, so that running it costs no allocation and no look-up by name: each
// variable has a slot, each affine index is a short list of (slot, coefficient). Memory that has no defined contents
// (temp, local, reg) starts as NaN or a large odd integer, so that reading it before writing shows. All loop kinds run
// in order.
#include <cstring>
#include <limits>

#include "loop/affine.h"
#include "loop/loop_ops.h"
#include "loop/scalar.h"

namespace mcc::loop {

namespace {

struct Code {
  ExprOp op;
  DType operand;  // type of the arguments
  DType result;
  int args[3];   // codes
  Scalar value;  // constant
  int slot;      // variable, or access of a load
};

// One dimension of an index: constant + sum of terms, or a code where it is not affine.
struct Dim {
  i64 constant = 0;
  std::vector<std::pair<int, i64>> terms;
  int code = -1;
  i64 extent = 0, stride = 0;
};

struct Access {
  int buffer;
  std::vector<Dim> dims;
};

struct Action {
  enum Kind { loop, store, branch } kind;
  int slot = 0;  // loop: variable; store: access
  i64 extent = 0;
  int code = 0;  // store: value; branch: condition
  StoreOp op = StoreOp::assign;
  std::vector<Action> body, else_body;
};

class Compiler {
 public:
  explicit Compiler(const Func& func) : func_(func) {}
  std::vector<Action> body(const std::vector<Stmt>& stmts);
  std::vector<Code> codes;
  std::vector<Access> accesses;

 private:
  int expr(const Expr& e);
  int access(int buffer, const std::vector<Expr>& index);

  const Func& func_;
};

int Compiler::access(int buffer, const std::vector<Expr>& index) {
  const Buffer& b = func_.buffer(buffer);
  MCC_CHECK(index.size() == b.shape.size());
  const Shape strides = row_major_strides(b.shape);
  Access access{buffer, {}};
  for (size_t d = 0; d < index.size(); d++) {
    Dim dim;
    dim.extent = b.shape[d];
    dim.stride = strides[d];
    Affine affine;
    if (add_affine(index[d], 1, affine)) {
      dim.constant = affine.constant;
      dim.terms.assign(affine.terms.begin(), affine.terms.end());
    } else {
      dim.code = expr(index[d]);
    }
    access.dims.push_back(std::move(dim));
  }
  accesses.push_back(std::move(access));
  return static_cast<int>(accesses.size()) - 1;
}

int Compiler::expr(const Expr& e) {
  Code code{e.op, e.args.empty() ? e.dtype : e.args.back().dtype, e.dtype, {}, {e.i, e.f}, static_cast<int>(e.i)};
  if (e.op == ExprOp::load) {
    code.slot = access(static_cast<int>(e.i), e.args);
  } else {
    MCC_CHECK(e.args.size() <= 3);
    for (size_t i = 0; i < e.args.size(); i++) code.args[i] = expr(e.args[i]);
  }
  codes.push_back(code);
  return static_cast<int>(codes.size()) - 1;
}

std::vector<Action> Compiler::body(const std::vector<Stmt>& stmts) {
  std::vector<Action> actions;
  for (const Stmt& stmt : stmts) {
    Action action{};
    if (const auto* loop = std::get_if<Loop>(&stmt.node)) {
      action.kind = Action::loop;
      action.slot = loop->var;
      action.extent = loop->extent;
      action.body = body(loop->body);
    } else if (const auto* branch = std::get_if<If>(&stmt.node)) {
      action.kind = Action::branch;
      action.code = expr(branch->condition);
      action.body = body(branch->then_body);
      action.else_body = body(branch->else_body);
    } else {
      const auto& store = std::get<Store>(stmt.node);
      action.kind = Action::store;
      action.slot = access(store.buffer, store.index);
      action.code = expr(store.value);
      action.op = store.op;
    }
    actions.push_back(std::move(action));
  }
  return actions;
}

template <typename T>
T read(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

Scalar read_element(DType dtype, const std::byte* at) {
  switch (dtype) {
    case DType::f32: return {0, read<float>(at)};
    case DType::f64: return {0, read<double>(at)};
    case DType::f16: return {0, half_to_float(read<std::uint16_t>(at))};
    case DType::bf16: return {0, bf16_to_float(read<std::uint16_t>(at))};
    case DType::i8: return {read<std::int8_t>(at), 0};
    case DType::i16: return {read<std::int16_t>(at), 0};
    case DType::i32: return {read<std::int32_t>(at), 0};
    case DType::u8: return {read<std::uint8_t>(at), 0};
    case DType::u16: return {read<std::uint16_t>(at), 0};
    case DType::u32: return {read<std::uint32_t>(at), 0};
    case DType::boolean: return {read<std::uint8_t>(at) != 0, 0};
    default: return {read<i64>(at), 0};
  }
}

template <typename T>
void write(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

void write_element(DType dtype, std::byte* at, Scalar value) {
  switch (dtype) {
    case DType::f32: return write(at, static_cast<float>(value.f));
    case DType::f64: return write(at, value.f);
    case DType::f16: return write(at, float_to_half(static_cast<float>(value.f)));
    case DType::bf16: return write(at, float_to_bf16(static_cast<float>(value.f)));
    case DType::i8:
    case DType::u8:
    case DType::boolean: return write(at, static_cast<std::uint8_t>(value.i));
    case DType::i16:
    case DType::u16: return write(at, static_cast<std::uint16_t>(value.i));
    case DType::i32:
    case DType::u32: return write(at, static_cast<std::uint32_t>(value.i));
    default: return write(at, value.i);
  }
}

class Machine {
 public:
  Machine(const Func& func, std::span<Tensor* const> params);
  void run() { run(body_); }

 private:
  void run(const std::vector<Action>& actions);
  Scalar eval(int code);
  Scalar eval_operation(const Code& c);
  std::byte* address(const Access& access);
  [[noreturn]] void out_of_bounds(const Access& access, size_t dim, i64 index) const;

  const Func& func_;
  Compiler code_;
  std::vector<Action> body_;
  std::vector<i64> vars_;
  std::vector<Tensor> memory_;  // one for each buffer; parameters share the caller's bytes
};

void fill_undefined(Tensor& tensor) {
  if (tensor.type.dtype == DType::boolean) return;
  for (i64 i = 0; i < tensor.size(); i++) {
    if (is_float(tensor.type.dtype))
      tensor.set(i, std::numeric_limits<double>::quiet_NaN());
    else
      tensor.set_int(i, 0x5b5b5b5b5b5b5b5b);
  }
}

Machine::Machine(const Func& func, std::span<Tensor* const> params)
    : func_(func), code_(func), body_(code_.body(func.body)), vars_(func.vars.size(), 0) {
  size_t next = 0;
  for (const Buffer& buffer : func.buffers) {
    if (is_param(buffer.scope)) {
      MCC_CHECK(next < params.size());
      memory_.push_back(*params[next++]);
      MCC_CHECK(memory_.back().type.dtype == buffer.dtype && memory_.back().size() == elements(buffer.shape));
    } else {
      memory_.emplace_back(TensorType{buffer.dtype, buffer.shape});
      fill_undefined(memory_.back());
    }
  }
  MCC_CHECK(next == params.size());
}

void Machine::out_of_bounds(const Access& access, size_t dim, i64 index) const {
  const Buffer& buffer = func_.buffer(access.buffer);
  std::string at;
  for (size_t v = 0; v < vars_.size(); v++) at += fmt::format(" {}={}", func_.vars[v], vars_[v]);
  throw InternalError(fmt::format("{}: index {} of dimension {} is outside {} {} at{}", func_.name, index, dim,
                                  buffer.name, to_string(TensorType{buffer.dtype, buffer.shape}), at));
}

std::byte* Machine::address(const Access& access) {
  i64 offset = 0;
  for (size_t d = 0; d < access.dims.size(); d++) {
    const Dim& dim = access.dims[d];
    i64 index = dim.constant;
    if (dim.code >= 0) index = eval(dim.code).i;
    for (const auto& [slot, coefficient] : dim.terms) index += vars_[at(slot)] * coefficient;
    if (index < 0 || index >= dim.extent) out_of_bounds(access, d, index);
    offset += index * dim.stride;
  }
  Tensor& tensor = memory_[at(access.buffer)];
  return tensor.bytes() + offset * size_of(tensor.type.dtype);
}

Scalar Machine::eval_operation(const Code& c) {
  const Scalar a = eval(c.args[0]);
  if (c.op == ExprOp::cast) return convert(c.operand, c.result, a);
  if (arity(c.op) == 1) return evaluate(c.op, c.operand, a);
  const Scalar b = eval(c.args[1]);
  if (c.operand == DType::f32) {  // the common case
    if (c.op == ExprOp::mul) return {0, static_cast<float>(a.f * b.f)};
    if (c.op == ExprOp::add) return {0, static_cast<float>(a.f + b.f)};
  }
  return evaluate(c.op, c.operand, a, b);
}

Scalar Machine::eval(int code) {
  const Code& c = code_.codes[at(code)];
  switch (c.op) {
    case ExprOp::constant: return c.value;
    case ExprOp::var: return {vars_[at(c.slot)], 0};
    case ExprOp::load: {
      const Access& access = code_.accesses[at(c.slot)];
      return read_element(c.result, address(access));
    }
    case ExprOp::select: return eval(c.args[0]).i != 0 ? eval(c.args[1]) : eval(c.args[2]);
    case ExprOp::logical_and: return eval(c.args[0]).i == 0 ? Scalar{} : eval(c.args[1]);
    case ExprOp::logical_or: return eval(c.args[0]).i != 0 ? Scalar{1, 0} : eval(c.args[1]);
    default: return eval_operation(c);
  }
}

void Machine::run(const std::vector<Action>& actions) {
  for (const Action& action : actions) {
    if (action.kind == Action::loop) {
      i64& v = vars_[static_cast<size_t>(action.slot)];
      for (v = 0; v < action.extent; v++) run(action.body);
    } else if (action.kind == Action::branch) {
      run(eval(action.code).i != 0 ? action.body : action.else_body);
    } else {
      Scalar value = eval(action.code);
      const Access& access = code_.accesses[static_cast<size_t>(action.slot)];
      const DType dtype = func_.buffer(access.buffer).dtype;
      std::byte* at = address(access);
      if (action.op != StoreOp::assign) value = accumulate(action.op, dtype, read_element(dtype, at), value);
      write_element(dtype, at, value);
    }
  }
}

}  // namespace

void interpret(const Func& func, std::span<Tensor* const> params) { Machine(func, params).run(); }

}  // namespace mcc::loop
