// Simplifies whole programs: every expression within the bounds of the loops around it, then the statements. A
// loop that runs once leaves its body (its variable has the bounds 0..0, so the expressions become free of it), one
// that never runs vanishes, an If with a known condition becomes one of its lists. At last what nothing uses is dropped
// and variables are renumbered in the order in which their loops first appear.
#include "loop/loop_ops.h"

namespace mcc::loop {

namespace {

using Ranges = std::vector<std::optional<Range>>;

class Simplifier {
 public:
  explicit Simplifier(size_t vars) : ranges_(vars), of_var_([this](int v) { return ranges_[at(v)]; }) {}
  Simplifier(const Simplifier&) = delete;
  Simplifier& operator=(const Simplifier&) = delete;

  std::vector<Stmt> body(const std::vector<Stmt>& stmts) {
    std::vector<Stmt> out;
    for (const Stmt& stmt : stmts) {
      if (const auto* nested = std::get_if<Loop>(&stmt.node))
        loop(*nested, out);
      else if (const auto* choice = std::get_if<If>(&stmt.node))
        branch(*choice, out);
      else
        out.push_back(Stmt{store(std::get<Store>(stmt.node))});
    }
    return out;
  }

 private:
  static void append(std::vector<Stmt>& out, std::vector<Stmt>&& more) {
    out.insert(out.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }

  void loop(const Loop& loop, std::vector<Stmt>& out) {
    if (loop.extent <= 0) return;
    auto& range = ranges_[at(loop.var)];
    const auto outside = range;
    range = Range{0, loop.extent - 1};
    std::vector<Stmt> inner = body(loop.body);
    std::vector<Prefetch> ahead = loop.ahead;
    for (Prefetch& fetch : ahead) fetch.at = simplify(fetch.at, of_var_);
    range = outside;
    if (loop.extent == 1) return append(out, std::move(inner));
    if (!inner.empty()) out.push_back(Stmt{Loop{loop.var, loop.extent, loop.kind, std::move(inner), std::move(ahead)}});
  }

  void branch(const If& branch, std::vector<Stmt>& out) {
    Expr condition = simplify(branch.condition, of_var_);
    if (condition.op == ExprOp::constant)
      return append(out, body(condition.i != 0 ? branch.then_body : branch.else_body));
    std::vector<Stmt> yes = body(branch.then_body), no = body(branch.else_body);
    if (!yes.empty() || !no.empty()) out.push_back(Stmt{If{std::move(condition), std::move(yes), std::move(no)}});
  }

  Store store(const Store& store) {
    Store simple{store.buffer, {}, simplify(store.value, of_var_), store.op, store.block};
    simple.index.reserve(store.index.size());
    for (const Expr& index : store.index) simple.index.push_back(simplify(index, of_var_));
    return simple;
  }

  Ranges ranges_;  // of the variables in scope
  std::function<std::optional<Range>(int)> of_var_;
};

// New numbers for variables and buffers; -1: not used. Buffers keep their order.
struct Numbering {
  std::vector<int> vars, buffers;
  int next_var = 0;
};

void count_uses(const Expr& e, Numbering& used) {
  if (e.op == ExprOp::load) used.buffers[at(e.i)] = 0;
  for (const Expr& arg : e.args) count_uses(arg, used);
}

void count_uses(const std::vector<Stmt>& body, Numbering& used) {
  for (const Stmt& stmt : body) {
    if (const auto* loop = std::get_if<Loop>(&stmt.node)) {
      int& id = used.vars[at(loop->var)];
      if (id < 0) id = used.next_var++;
      for (const Prefetch& fetch : loop->ahead) used.buffers[at(fetch.buffer)] = 0;
      count_uses(loop->body, used);
    } else if (const auto* branch = std::get_if<If>(&stmt.node)) {
      count_uses(branch->condition, used);
      count_uses(branch->then_body, used);
      count_uses(branch->else_body, used);
    } else {
      const auto& store = std::get<Store>(stmt.node);
      used.buffers[at(store.buffer)] = 0;
      for (const Expr& index : store.index) count_uses(index, used);
      count_uses(store.value, used);
    }
  }
}

void renumber(Expr& e, const Numbering& to) {
  if (e.op == ExprOp::load) e.i = to.buffers[at(e.i)];
  if (e.op == ExprOp::var) e.i = to.vars[at(e.i)];
  for (Expr& arg : e.args) renumber(arg, to);
}

void renumber(std::vector<Stmt>& body, const Numbering& to) {
  for (Stmt& stmt : body) {
    if (auto* loop = std::get_if<Loop>(&stmt.node)) {
      loop->var = to.vars[at(loop->var)];
      for (Prefetch& fetch : loop->ahead) {
        fetch.buffer = to.buffers[at(fetch.buffer)];
        renumber(fetch.at, to);
      }
      renumber(loop->body, to);
    } else if (auto* branch = std::get_if<If>(&stmt.node)) {
      renumber(branch->condition, to);
      renumber(branch->then_body, to);
      renumber(branch->else_body, to);
    } else {
      auto& store = std::get<Store>(stmt.node);
      store.buffer = to.buffers[at(store.buffer)];
      for (Expr& index : store.index) renumber(index, to);
      renumber(store.value, to);
    }
  }
}

}  // namespace

Func drop_unused(Func func) {
  Numbering numbers{std::vector<int>(func.vars.size(), -1), std::vector<int>(func.buffers.size(), -1), 0};
  count_uses(func.body, numbers);
  Func result;
  result.name = std::move(func.name);
  result.vars.resize(static_cast<size_t>(numbers.next_var));
  for (size_t v = 0; v < func.vars.size(); v++) {
    if (numbers.vars[v] >= 0) result.vars[at(numbers.vars[v])] = std::move(func.vars[v]);
  }
  for (size_t b = 0; b < func.buffers.size(); b++) {
    if (numbers.buffers[b] < 0 && !is_param(func.buffers[b].scope)) continue;
    numbers.buffers[b] = static_cast<int>(result.buffers.size());
    result.buffers.push_back(std::move(func.buffers[b]));
  }
  renumber(func.body, numbers);
  result.body = std::move(func.body);
  return result;
}

Func simplify(const Func& func) {
  Func result = func;
  result.body = Simplifier(func.vars.size()).body(func.body);
  return drop_unused(std::move(result));
}

}  // namespace mcc::loop
