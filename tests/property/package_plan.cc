// Memory plans: whatever lives at the same time is apart, in random arenas and in random models with views, in-place
// kernels and scratch.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "loop/build.h"
#include "package/arena.h"
#include "package/inplace.h"
#include "package/views.h"

namespace mcc {
namespace {

bool bytes_overlap(i64 a, i64 a_bytes, i64 b, i64 b_bytes) { return a < b + b_bytes && b < a + a_bytes; }

TEST(Arena, LiveItemsAreApart) {
  const Rng seed(7);
  for (u64 round = 0; round < 300; round++) {
    Rng rng = seed.fork(round);
    std::vector<ArenaItem> items;
    for (i64 n = rng.below(40); n > 0; n--) {
      const int first = static_cast<int>(rng.below(20));
      items.push_back({rng.below(5000), first, first + static_cast<int>(rng.below(6))});
    }
    const ArenaLayout layout = lay_out_arena(items);
    for (size_t a = 0; a < items.size(); a++) {
      EXPECT_EQ(layout.offsets[a] % 64, 0);
      EXPECT_LE(layout.offsets[a] + items[a].bytes, layout.bytes);
      for (size_t b = 0; b < a; b++) {
        const bool together = items[a].first <= items[b].last && items[b].first <= items[a].last;
        EXPECT_FALSE(together && bytes_overlap(layout.offsets[a], items[a].bytes, layout.offsets[b], items[b].bytes))
            << "round " << round;
      }
    }
  }
}

constexpr i64 kRow = 8, kElements = 6 * kRow;

// y[i] = x[i] + z[i], or, shifted, y[i] = x[(i + 1) mod n] + z[i].
loop::Func add_func(bool shifted) {
  loop::FuncBuilder b(shifted ? "shifted" : "add");
  const int x = b.input("x", DType::f32, {kElements}), z = b.input("z", DType::f32, {kElements}),
            y = b.output("y", DType::f32, {kElements});
  b.block("add", {kElements}, y, [&](const loop::Vars& v) {
    return b.load(x, {shifted ? loop::floormod(v[0] + 1, kElements) : v[0]}) + b.load(z, {v[0]});
  });
  return b.take();
}

// Some results are views of whole others, and some lie row by row beside each other in one that joins them.
LoweredModel random_model(Rng& rng) {
  LoweredModel model;
  const TensorType type{DType::f32, {kElements}}, joined{DType::f32, {2 * kElements}};
  model.graph.inputs = {model.graph.add_value("in", type)};
  model.views.emplace_back();
  std::vector<ValueId> values = model.graph.inputs, whole = values;
  ValueId join = kNone;  // the first of its parts is made
  for (i64 n = 2 + rng.below(12); n > 0; n--) {
    KernelCall call{add_func(rng.below(3) == 0), {rng.pick(values), rng.pick(values)}, {}};
    const ValueId out = model.graph.add_value("v", type);
    call.args.push_back(out);
    values.push_back(out);
    model.views.emplace_back();
    model.calls.push_back(std::move(call));
    if (rng.below(4) == 0) {
      const bool second = join != kNone;
      if (!second) {
        join = model.graph.add_value("join", joined);
        model.views.emplace_back();
      }
      model.views[static_cast<size_t>(out)] = {join, second ? 4 * kRow : 0, {kElements / kRow, 2 * kRow}};
      if (second) join = kNone;
      continue;
    }
    whole.push_back(out);
    if (rng.below(4) > 0) continue;
    values.push_back(model.graph.add_value("view", type));
    whole.push_back(values.back());
    model.views.push_back({out, 0, {}});
  }
  for (i64 n = 1 + rng.below(3); n > 0; n--) model.graph.outputs.push_back(rng.pick(whole));
  return copied_outputs(std::move(model));
}

std::vector<loop::Func> funcs_of(const LoweredModel& model) {
  std::vector<loop::Func> funcs;
  for (const KernelCall& call : model.calls) funcs.push_back(call.func);
  return funcs;
}

using Memory = std::map<std::pair<int, int>, std::vector<float>>;  // (kind, index) -> content

struct Elements {
  float* data;
  size_t pitch;  // of rows
  float& operator[](size_t i) const { return data[i / kRow * pitch + i % kRow]; }
};

Elements at(Memory& memory, const MemoryPlan::Place& place, size_t pitch) {
  return {memory.at({static_cast<int>(place.kind), place.index}).data() + place.offset / 4, pitch};
}

// Element by element in the order of the program: what a kernel does to memory that its arguments share.
void run_call(const KernelCall& call, Elements x, Elements z, Elements y) {
  const bool copy = call.func.name.starts_with("copy");
  const size_t shift = call.func.name == "shifted" ? 1 : 0;
  for (size_t i = 0; i < kElements; i++) y[i] = copy ? x[i] : x[(i + shift) % kElements] + z[i];
}

TEST(Plan, RandomModelsComputeTheSameInPlannedMemory) {
  const Rng seed(11);
  int shared = 0;
  for (u64 round = 0; round < 400; round++) {
    Rng rng = seed.fork(round);
    const LoweredModel model = random_model(rng);
    const MemoryPlan plan = plan_memory(model, funcs_of(model), 2);
    const std::vector<Resolved> resolved = resolve_views(model);
    std::vector<std::vector<float>> apart(model.graph.values.size(), std::vector<float>(2 * kElements));
    Memory memory;
    using Kind = MemoryPlan::Place::Kind;
    memory[{static_cast<int>(Kind::arena), -1}].resize(static_cast<size_t>(plan.arena_bytes / 4));
    memory[{static_cast<int>(Kind::input), 0}].resize(kElements);
    for (size_t o = 0; o < model.graph.outputs.size(); o++)
      memory[{static_cast<int>(Kind::output), static_cast<int>(o)}].resize(kElements);
    for (size_t i = 0; i < kElements; i++)
      apart[0][i] = memory[{static_cast<int>(Kind::input), 0}][i] = static_cast<float>(rng.below(9));
    for (const KernelCall& call : model.calls) {
      const ValueId x = call.args.front(), z = call.args[call.args.size() - 2], y = call.args.back();
      const auto pitch = [&](ValueId v) -> size_t {
        return model.views[static_cast<size_t>(v)].pitch.empty() ? kRow : 2 * kRow;
      };
      const auto alone = [&](ValueId v) -> Elements {
        const Resolved& in = resolved[static_cast<size_t>(v)];
        return {apart[static_cast<size_t>(in.root)].data() + in.offset / 4, pitch(v)};
      };
      const auto place = [&](ValueId v) { return plan.values[static_cast<size_t>(v)]; };
      const auto planned = [&](ValueId v) { return at(memory, place(v), pitch(v)); };
      run_call(call, alone(x), alone(z), alone(y));
      run_call(call, planned(x), planned(z), planned(y));
      shared +=
          place(y).kind == Kind::arena && (place(y).offset == place(x).offset || place(y).offset == place(z).offset);
    }
    for (size_t o = 0; o < model.graph.outputs.size(); o++) {
      std::vector<float> want = apart[static_cast<size_t>(resolved[static_cast<size_t>(model.graph.outputs[o])].root)];
      want.resize(kElements);
      EXPECT_EQ((memory[{static_cast<int>(Kind::output), static_cast<int>(o)}]), want) << "round " << round;
    }
  }
  EXPECT_GT(shared, 0);
}

TEST(InPlace, OnlyWhenEachElementIsReadBeforeItIsWritten) {
  EXPECT_TRUE(may_overwrite(add_func(false), 0, 2));
  EXPECT_TRUE(may_overwrite(add_func(false), 1, 2));
  EXPECT_FALSE(may_overwrite(add_func(true), 0, 2));
  EXPECT_TRUE(may_overwrite(add_func(true), 1, 2));
}

TEST(InPlace, NotWhenTheOutputIsWrittenTwice) {
  loop::FuncBuilder b("twice");
  const int x = b.input("x", DType::f32, {4}), y = b.output("y", DType::f32, {4});
  b.region("t", 2, [&](loop::Expr) {
    b.block("inc", {4}, y, [&](const loop::Vars& v) { return b.load(x, v) + loop::const_float(1); });
  });
  EXPECT_FALSE(may_overwrite(b.take(), 0, 1));
}

TEST(InPlace, NotWhenReadByAnotherBlock) {
  loop::FuncBuilder b("sum");
  const int x = b.input("x", DType::f32, {4}), y = b.output("y", DType::f32, {4}), s = b.temp("s", DType::f32, {1});
  b.reduce("sum", {1}, {4}, s, loop::StoreOp::add, loop::const_float(0),
           [&](const loop::Vars&, const loop::Vars& r) { return b.load(x, r); });
  b.block("sub", {4}, y, [&](const loop::Vars& v) { return b.load(x, v) - b.load(s, {loop::const_int(0)}); });
  EXPECT_FALSE(may_overwrite(b.take(), 0, 1));
}

}  // namespace
}  // namespace mcc
