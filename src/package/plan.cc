// Where every value lives while the model runs. Views (a Reshape, a part of a Concat) share the storage of the value
// they look into; a storage lives from the first call that writes into it to the last that reads from it, and all that
// live at once are apart. Graph inputs are read where the caller has them and graph outputs are written where the
// caller wants them: the storage of an output is the caller's buffer when the output covers it whole (copied_outputs()
// arranges this for the rest). Everything else goes into the arena.
#include <algorithm>

#include "codegen/codegen.h"
#include "package/arena.h"
#include "package/inplace.h"
#include "package/views.h"

namespace mcc {
namespace {

struct Storage {
  i64 bytes = 0;
  int first = -1, last = -1;  // calls; -1: never used by one
  MemoryPlan::Place place;    // kind none: belongs into the arena
  int shares = -1;            // another root whose memory this one takes
};

struct Planner {
  const LoweredModel& model;
  const std::vector<loop::Func>& scheduled;
  std::vector<Resolved> of;      // value -> root and offset
  std::vector<Storage> storage;  // by root value

  Storage& root_of(ValueId v) { return storage[at(of[at(v)].root)]; }
  i64 value_bytes(ValueId v) const { return bytes(model.graph.value(v).type); }

  void set_fixed_places();
  void set_lifetimes();
  bool can_take(const KernelCall& call, int call_number, int input, int output);
  void share_in_place();
  MemoryPlan finish(int threads);
};

void Planner::set_fixed_places() {
  const Graph& graph = model.graph;
  for (size_t v = 0; v < graph.values.size(); v++) {
    storage[v].bytes = value_bytes(static_cast<ValueId>(v));
    if (graph.values[v].constant) storage[v].place.kind = MemoryPlan::Place::Kind::weight;
  }
  for (size_t i = 0; i < graph.inputs.size(); i++)
    storage[at(graph.inputs[i])].place = {MemoryPlan::Place::Kind::input, 0, static_cast<int>(i)};
  for (size_t o = 0; o < graph.outputs.size(); o++) {
    MCC_CHECK(covers_root(model, of, graph.outputs[o]));
    MemoryPlan::Place& place = root_of(graph.outputs[o]).place;
    MCC_CHECK(place.kind == MemoryPlan::Place::Kind::none);
    place = {MemoryPlan::Place::Kind::output, 0, static_cast<int>(o)};
  }
}

void Planner::set_lifetimes() {
  for (size_t c = 0; c < model.calls.size(); c++) {
    for (const ValueId arg : model.calls[c].args) {
      Storage& s = root_of(arg);
      if (s.first < 0) s.first = static_cast<int>(c);
      s.last = static_cast<int>(c);
    }
  }
}

// Input and output number parameters of the call. The proof about the kernel comes last, as it is the dearest.
bool Planner::can_take(const KernelCall& call, int call_number, int input, int output) {
  const ValueId x = call.args[at(input)], y = call.args[at(output)];
  const int from = of[at(x)].root, to = of[at(y)].root;
  const Storage &a = storage[at(from)], &b = storage[at(to)];
  if (from == to || a.place.kind != MemoryPlan::Place::Kind::none || b.place.kind != MemoryPlan::Place::Kind::none)
    return false;
  if (a.last != call_number || b.first != call_number || a.first == call_number || b.shares >= 0) return false;
  if (a.bytes != b.bytes || !covers_root(model, of, x) || !covers_root(model, of, y)) return false;
  const auto uses = [&](int root) {
    return std::count_if(call.args.begin(), call.args.end(), [&](ValueId v) { return of[at(v)].root == root; });
  };
  return uses(from) == 1 && uses(to) == 1 && may_overwrite(scheduled[at(call_number)], input, output);
}

// Calls are visited in order, so a chain of element-wise kernels ends up in one place.
void Planner::share_in_place() {
  for (size_t c = 0; c < model.calls.size(); c++) {
    const KernelCall& call = model.calls[c];
    std::vector<bool> taken(call.args.size());
    for (size_t out = 0; out < call.args.size(); out++) {
      for (size_t in = 0; in < call.args.size(); in++) {
        if (in == out || taken[in] || !can_take(call, static_cast<int>(c), static_cast<int>(in), static_cast<int>(out)))
          continue;
        root_of(call.args[out]).shares = of[at(call.args[in])].root;
        taken[in] = true;
        break;
      }
    }
  }
}

MemoryPlan Planner::finish(int threads) {
  std::vector<ArenaItem> items;
  std::vector<int> item_of(storage.size(), -1);
  for (size_t r = 0; r < storage.size(); r++) {
    Storage& s = storage[r];
    if (of[r].root != static_cast<int>(r) || s.first < 0 || s.place.kind != MemoryPlan::Place::Kind::none) continue;
    size_t owner = r;
    while (storage[owner].shares >= 0) owner = static_cast<size_t>(storage[owner].shares);
    if (item_of[owner] < 0) {
      item_of[owner] = static_cast<int>(items.size());
      items.push_back({s.bytes, s.first, s.last});
    }
    ArenaItem& item = items[at(item_of[owner])];
    item.first = std::min(item.first, s.first);
    item.last = std::max(item.last, s.last);
    item_of[r] = item_of[owner];
  }
  const size_t scratch_from = items.size();
  for (size_t c = 0; c < scheduled.size(); c++)
    items.push_back({scratch_bytes(scheduled[c], threads), static_cast<int>(c), static_cast<int>(c)});

  const ArenaLayout layout = lay_out_arena(items);
  MemoryPlan plan;
  plan.arena_bytes = layout.bytes;
  plan.scratch.assign(layout.offsets.begin() + static_cast<std::ptrdiff_t>(scratch_from), layout.offsets.end());
  for (size_t v = 0; v < of.size(); v++) {
    const size_t root = static_cast<size_t>(of[v].root);
    MemoryPlan::Place place = storage[root].place;
    if (item_of[root] >= 0) place = {MemoryPlan::Place::Kind::arena, layout.offsets[at(item_of[root])], -1};
    place.offset += of[v].offset;
    plan.values.push_back(place);
  }
  return plan;
}

}  // namespace

MemoryPlan plan_memory(const LoweredModel& model, const std::vector<loop::Func>& scheduled, int threads) {
  MCC_CHECK(scheduled.size() == model.calls.size());
  Planner planner{model, scheduled, resolve_views(model), std::vector<Storage>(model.graph.values.size())};
  planner.set_fixed_places();
  planner.set_lifetimes();
  planner.share_in_place();
  return planner.finish(threads);
}

}  // namespace mcc
