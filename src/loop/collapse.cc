// Makes algorithm-form programs as low-dimensional as they can be, so that a schedule sees a matrix product where a 1x1
// convolution was written, and one long row where an elementwise operation was.
//
// First simplify() removes loops that run once, and dimensions of extent 1 are dropped. Then neighbouring dimensions
// (d, d+1) of buffers and pairs of loops (i, j) are merged wherever they only ever occur together:
//  - a dimension pair may merge if every access to it is [.., i, j, ..] with a mergeable loop pair where j covers the
//    whole of dimension d+1 (or both indices are constants);
//  - a loop pair may merge if i and j occur nowhere but side by side, always at mergeable dimension pairs, and the
//    loops are serial and either directly nested (then the order of iterations stays) or in a nest whose loops may be
//    reordered.
// Both conditions start true and are withdrawn until nothing changes. What is left falls into groups connected by
// accesses; one group is merged at a time, until none is left.
//
// For a separable convolution (collapse.h) one more dimension pair may merge: of a temp, if only the accesses that read
// it fit. The one store to it then follows: it has an index of two variables, and its loops stay. A store whose loops
// merge anyway, because of what else is accessed in them, does not follow but merges with them.
//
// Parameters keep their bytes: only their shapes change. Packed constants are left alone.
#include <algorithm>
#include <set>

#include "loop/build.h"
#include "loop/collapse.h"
#include "loop/loop_ops.h"

namespace mcc::loop {

namespace {

// --- dimensions of extent 1 ------------------------------------------------------------------------------------------

void drop_unit_indices(const Func& func, int buffer, std::vector<Expr>& index) {
  const Buffer& b = func.buffer(buffer);
  if (b.pack != Pack{}) return;
  std::vector<Expr> kept;
  for (size_t d = 0; d < index.size(); d++) {
    if (b.shape[d] != 1) kept.push_back(std::move(index[d]));
  }
  index = std::move(kept);
}

// Every access (buffer, index) of the program, innermost first; `change` may rewrite the index.
using Change = std::function<void(int buffer, std::vector<Expr>& index)>;

void change_accesses(Expr& e, const Change& change) {
  for (Expr& arg : e.args) change_accesses(arg, change);
  if (e.op == ExprOp::load) change(static_cast<int>(e.i), e.args);
}

void change_accesses(std::vector<Stmt>& body, const Change& change) {
  for (Stmt& stmt : body) {
    if (auto* loop = std::get_if<Loop>(&stmt.node)) {
      change_accesses(loop->body, change);
    } else if (auto* branch = std::get_if<If>(&stmt.node)) {
      change_accesses(branch->condition, change);
      change_accesses(branch->then_body, change);
      change_accesses(branch->else_body, change);
    } else {
      auto& store = std::get<Store>(stmt.node);
      for (Expr& index : store.index) change_accesses(index, change);
      change_accesses(store.value, change);
      change(store.buffer, store.index);
    }
  }
}

void drop_unit_dimensions(Func& func) {
  change_accesses(func.body, [&](int buffer, std::vector<Expr>& index) { drop_unit_indices(func, buffer, index); });
  for (Buffer& b : func.buffers) {
    if (b.pack == Pack{}) std::erase(b.shape, 1);
  }
}

// --- what occurs with what -------------------------------------------------------------------------------------------

constexpr int kUnseen = -1, kMixed = -2;  // no neighbour seen yet; different ones, or none at some place

struct VarInfo {
  int nest = -1, depth = 0;  // nest: loops each of which is the whole body of the one before
  i64 extent = 0;
  bool serial = false;
  int left = kUnseen, right = kUnseen;  // the variable that stands beside it at every occurrence
};

void meet(int& neighbour, int other) {
  if (neighbour == kUnseen)
    neighbour = other;
  else if (neighbour != other)
    neighbour = kMixed;
}

int plain_var(const std::vector<Expr>& index, size_t d) {
  return d < index.size() && index[d].op == ExprOp::var ? static_cast<int>(index[d].i) : kMixed;
}

struct DimPair {
  int buffer = 0;
  size_t dim = 0;
  auto operator<=>(const DimPair&) const = default;
};
using LoopPair = std::pair<int, int>;
struct Use {  // an access to a dimension pair
  DimPair dims;
  LoopPair loops;         // kMixed where the index is not a plain variable
  bool constant = false;  // both indices are
  bool follows = false;   // a store that may have an index of two variables, as its loops do not merge
};

// The dimension pairs of temps that are merged for the reader's sake: rows and pixels before channels, where one nest
// assigns and one reduction reads.
std::set<DimPair> pairs_for_readers(const Func& func) {
  std::vector<int> assigned(func.buffers.size(), 0), reduced(func.buffers.size(), 0);
  constexpr int kOther = 2;
  for_each_store(func, [&](const Store& store, std::span<const Loop* const>) {
    assigned[at(store.buffer)] += store.op == StoreOp::assign ? 1 : kOther;
    std::set<i64> loaded;
    for_each_load(store.value, [&](const Expr& load) { loaded.insert(load.i); });
    for (const i64 b : loaded) reduced[at(b)] += store.op == StoreOp::assign ? kOther : 1;
  });
  std::set<DimPair> pairs;
  for (size_t b = 0; b < func.buffers.size(); b++) {
    const Buffer& buffer = func.buffers[b];
    if (buffer.scope == Scope::temp && assigned[b] == 1 && reduced[b] == 1 && buffer.shape.size() >= 3)
      pairs.insert({static_cast<int>(b), buffer.shape.size() - 3});
  }
  return pairs;
}

// Whether the loops of a nest may run in any order: one store whose index has each loop once and plainly, or that
// accumulates over those it has not, and that does not read what it writes.
bool reorderable(const Store& store, const std::vector<int>& loops) {
  std::set<int> in_index;
  for (const Expr& index : store.index) {
    if (index.op == ExprOp::constant) continue;
    if (index.op != ExprOp::var || !in_index.insert(static_cast<int>(index.i)).second) return false;
  }
  bool reads_itself = false;
  for_each_load(store.value, [&](const Expr& load) { reads_itself = reads_itself || load.i == store.buffer; });
  const auto indexed = [&](int v) { return in_index.contains(v); };
  return !reads_itself && (store.op != StoreOp::assign || std::all_of(loops.begin(), loops.end(), indexed));
}

class Survey {
 public:
  Survey(const Func& func, std::set<DimPair> for_readers)
      : vars(func.vars.size()), func_(func), for_readers_(std::move(for_readers)) {
    body(func.body, {});
  }

  std::vector<VarInfo> vars;
  std::vector<Use> uses;
  std::set<int> free_order;  // nests that are reorderable

 private:
  void body(const std::vector<Stmt>& stmts, std::vector<int> nest);
  void loop(const Loop& loop, std::vector<int> nest);
  void expr(const Expr& e);
  void access(int buffer, const std::vector<Expr>& index, bool is_store = false);

  const Func& func_;
  std::set<DimPair> for_readers_;
  int nests_ = 0;
};

// `nest`: the variables of the loops that have these statements alone inside.
void Survey::body(const std::vector<Stmt>& stmts, std::vector<int> nest) {
  if (stmts.size() != 1) nest.clear();
  for (const Stmt& stmt : stmts) {
    if (const auto* nested = std::get_if<Loop>(&stmt.node)) {
      loop(*nested, nest);
    } else if (const auto* branch = std::get_if<If>(&stmt.node)) {
      expr(branch->condition);
      body(branch->then_body, {});
      body(branch->else_body, {});
    } else {
      const auto& store = std::get<Store>(stmt.node);
      access(store.buffer, store.index, true);
      expr(store.value);
      if (!nest.empty() && reorderable(store, nest)) free_order.insert(vars[at(nest[0])].nest);
    }
  }
}

void Survey::loop(const Loop& loop, std::vector<int> nest) {
  VarInfo& info = vars[at(loop.var)];
  const bool again = info.nest >= 0;  // a copy of a loop
  info.nest = nest.empty() ? nests_++ : vars[at(nest[0])].nest;
  info.depth = static_cast<int>(nest.size());
  info.extent = loop.extent;
  info.serial = loop.kind == LoopKind::serial && !again;
  nest.push_back(loop.var);
  body(loop.body, std::move(nest));
}

void Survey::expr(const Expr& e) {
  if (e.op == ExprOp::var) {
    VarInfo& info = vars[at(e.i)];
    info.left = info.right = kMixed;
  } else if (e.op == ExprOp::load) {
    access(static_cast<int>(e.i), e.args);
  } else {
    for (const Expr& arg : e.args) expr(arg);
  }
}

void Survey::access(int buffer, const std::vector<Expr>& index, bool is_store) {
  const bool packed = func_.buffer(buffer).pack != Pack{};
  for (size_t d = 0; d < index.size(); d++) {
    if (index[d].op != ExprOp::var) {
      expr(index[d]);
      continue;
    }
    VarInfo& info = vars[at(index[d].i)];
    meet(info.left, packed || d == 0 ? kMixed : plain_var(index, d - 1));
    meet(info.right, packed ? kMixed : plain_var(index, d + 1));
  }
  for (size_t d = 0; d + 1 < index.size() && !packed; d++) {
    const bool constant = index[d].op == ExprOp::constant && index[d + 1].op == ExprOp::constant;
    const LoopPair loops{plain_var(index, d), plain_var(index, d + 1)};
    const bool follows = is_store && loops.first >= 0 && loops.second >= 0 && for_readers_.contains({buffer, d}) &&
                         vars[at(loops.second)].extent == func_.buffer(buffer).shape[d + 1];
    uses.push_back({{buffer, d}, loops, constant, follows});
  }
}

// --- what may merge --------------------------------------------------------------------------------------------------

bool loops_fit(const Survey& survey, LoopPair pair) {
  if (pair.first < 0 || pair.second < 0 || pair.first == pair.second) return false;
  const VarInfo& i = survey.vars[at(pair.first)];
  const VarInfo& j = survey.vars[at(pair.second)];
  if (i.right != pair.second || j.left != pair.first) return false;
  if (!i.serial || !j.serial || i.nest != j.nest) return false;
  return j.depth == i.depth + 1 || survey.free_order.contains(i.nest);
}

struct Merge {
  std::set<DimPair> dims;
  std::set<LoopPair> loops;
};

// The greatest sets in which each pair's condition holds, whatever the stores need that follow.
Merge all_mergeable(const Func& func, const Survey& survey) {
  std::set<DimPair> bad_dims;
  std::set<LoopPair> bad_loops;
  for (const Use& use : survey.uses) {
    if (use.constant || use.follows) continue;
    const i64 inner = func.buffer(use.dims.buffer).shape[use.dims.dim + 1];
    const bool fits = loops_fit(survey, use.loops) && survey.vars[at(use.loops.second)].extent == inner;
    if (fits) continue;
    bad_dims.insert(use.dims);
    bad_loops.insert(use.loops);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const Use& use : survey.uses) {
      if (use.constant || use.follows) continue;
      if (bad_loops.contains(use.loops)) changed |= bad_dims.insert(use.dims).second;
      if (bad_dims.contains(use.dims)) changed |= bad_loops.insert(use.loops).second;
    }
  }
  Merge all;
  for (const Use& use : survey.uses) {
    if (use.constant || use.follows || bad_dims.contains(use.dims)) continue;
    all.dims.insert(use.dims);
    all.loops.insert(use.loops);
  }
  return all;
}

// Ends the following of stores whose loops merge; whether there was one.
bool tie_followers(Survey& survey, const Merge& all) {
  bool tied = false;
  for (Use& use : survey.uses) {
    const bool ends = use.follows && all.loops.contains(use.loops);
    if (ends) use.follows = false;
    tied |= ends;
  }
  return tied;
}

// The pairs that must merge together with `seed`.
Merge group_of(const Survey& survey, const Merge& all, DimPair seed) {
  Merge group{{seed}, {}};
  for (bool changed = true; changed;) {
    changed = false;
    for (const Use& use : survey.uses) {
      if (use.constant || use.follows || !all.dims.contains(use.dims)) continue;
      if (group.dims.contains(use.dims)) changed |= group.loops.insert(use.loops).second;
      if (group.loops.contains(use.loops)) changed |= group.dims.insert(use.dims).second;
    }
  }
  return group;
}

// No loop and no dimension takes part in two pairs.
bool disjoint(const Merge& group) {
  std::set<int> seen;
  for (const auto& [i, j] : group.loops) {
    if (!seen.insert(i).second || !seen.insert(j).second) return false;
  }
  return std::none_of(group.dims.begin(), group.dims.end(),
                      [&](const DimPair& p) { return group.dims.contains({p.buffer, p.dim + 1}); });
}

std::optional<Merge> next_merge(const Func& func, bool for_readers) {
  Survey survey(func, for_readers ? pairs_for_readers(func) : std::set<DimPair>{});
  Merge all = all_mergeable(func, survey);
  while (tie_followers(survey, all)) all = all_mergeable(func, survey);
  for (const DimPair& seed : all.dims) {
    Merge group = group_of(survey, all, seed);
    if (disjoint(group)) return group;
  }
  return std::nullopt;
}

// --- merging ---------------------------------------------------------------------------------------------------------

// The outer loop of each pair takes the merged extent and the first variable; the inner one gives way to its body.
void merge_loops(std::vector<Stmt>& body, const std::set<LoopPair>& pairs, std::map<int, i64>& pending) {
  for (size_t s = 0; s < body.size(); s++) {
    auto* loop = std::get_if<Loop>(&body[s].node);
    if (loop == nullptr) continue;
    const auto pair = std::find_if(pairs.begin(), pairs.end(),
                                   [&](const LoopPair& p) { return p.first == loop->var || p.second == loop->var; });
    if (pair != pairs.end() && pending.contains(pair->first)) {
      pending[pair->first] = loop->extent;
      std::vector<Stmt> inner = std::move(loop->body);
      body = std::move(inner);  // a loop of a nest is the only statement of its body
      return merge_loops(body, pairs, pending);
    }
    if (pair != pairs.end()) pending[pair->first] = 0;
    merge_loops(loop->body, pairs, pending);
    if (pair == pairs.end()) continue;
    loop->var = pair->first;
    loop->extent *= pending[pair->first];
    pending.erase(pair->first);
  }
}

void merge_indices(const Func& func, const Merge& merge, int buffer, std::vector<Expr>& index) {
  for (size_t d = index.size(); d-- > 0;) {  // from the back, so that erasing moves no pair
    if (!merge.dims.contains({buffer, d})) continue;
    const i64 inner = func.buffer(buffer).shape[d + 1];
    if (!merge.loops.contains({plain_var(index, d), plain_var(index, d + 1)}))
      index[d] = index[d] * inner + index[d + 1];
    index.erase(index.begin() + static_cast<std::ptrdiff_t>(d) + 1);
  }
}

// What loops fetch ahead names variables that may vanish; algorithm form has none.
void drop_ahead(std::vector<Stmt>& body) {
  for (Stmt& stmt : body) {
    if (auto* loop = std::get_if<Loop>(&stmt.node)) {
      loop->ahead.clear();
      drop_ahead(loop->body);
    } else if (auto* branch = std::get_if<If>(&stmt.node)) {
      drop_ahead(branch->then_body);
      drop_ahead(branch->else_body);
    }
  }
}

void apply(Func& func, const Merge& merge) {
  change_accesses(func.body, [&](int buffer, std::vector<Expr>& index) { merge_indices(func, merge, buffer, index); });
  for (auto pair = merge.dims.rbegin(); pair != merge.dims.rend(); ++pair) {
    Shape& shape = func.buffer(pair->buffer).shape;
    shape[pair->dim] *= shape[pair->dim + 1];
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(pair->dim) + 1);
  }
  std::map<int, i64> pending;
  merge_loops(func.body, merge.loops, pending);
}

Func collapse(const Func& func, bool for_readers) {
  Func result = simplify(func);
  drop_ahead(result.body);
  drop_unit_dimensions(result);
  while (const auto merge = next_merge(result, for_readers)) apply(result, *merge);
  return drop_unused(std::move(result));
}

}  // namespace

Func collapse(const Func& func) { return collapse(func, false); }
Func collapse_for_readers(const Func& func) { return collapse(func, true); }

}  // namespace mcc::loop
