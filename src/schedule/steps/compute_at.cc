// compute_at BLOCK HOST LOOP: each iteration of HOST's loop first computes the part of BLOCK that it needs, into a
// buffer of that size. How large the part is, and whether it can be told, comes out when the loops are generated
// (bounds.cc). scope BLOCK reg|local|temp: where that buffer lives.
#include "schedule/steps.h"

namespace mcc::schedule {

Reason step_compute_at(State& state, const Step& step) {
  if (Reason why = schedulable(state, step.block, "compute_at"); !why.empty()) return why;
  if (Reason why = schedulable(state, step.loops.at(0), "compute_at"); !why.empty()) return why;
  const int id = find_stage(state, step.block), host_id = find_stage(state, step.loops[0]);
  Stage& stage = state.stage(id);
  const Stage& host = state.stage(host_id);
  if (host_id <= id) return fmt::format("compute_at: {} does not come after {}", host.block, stage.block);
  if (find_loop(host, step.loops.at(1)) < 0)
    return fmt::format("compute_at: block {} has no loop {}", host.block, step.loops[1]);
  const int buffer = stage.store.buffer;
  if (state.buffer(buffer).scope != loop::Scope::temp) {
    return fmt::format("compute_at: {} writes an output", stage.block);
  }
  if (!sole_writer(state, id) || (stage.store.op != loop::StoreOp::assign && !stage.init) || reads(stage, buffer)) {
    return fmt::format("compute_at: {} does not compute its buffer alone", stage.block);
  }
  if (Reason why = may_move(state, id, host_id); !why.empty()) return "compute_at: " + why;
  stage.place = Stage::Place::at;
  stage.at_stage = host_id;
  stage.at_loop = step.loops[1];
  return "";
}

Reason step_scope(State& state, const Step& step) {
  if (Reason why = schedulable(state, step.block, "scope"); !why.empty()) return why;
  Stage& stage = state.stage(find_stage(state, step.block));
  if (stage.place != Stage::Place::at) return fmt::format("scope: {} is not computed at a loop", step.block);
  const std::string& word = step.loops.at(0);
  if (word == "reg") {
    stage.scope = loop::Scope::reg;
  } else if (word == "local") {
    stage.scope = loop::Scope::local;
  } else if (word == "temp") {
    stage.scope = loop::Scope::temp;
  } else {
    return fmt::format("scope: '{}' is none of reg, local, temp", word);
  }
  return "";
}

}  // namespace mcc::schedule
