// Blocks that are left as they are (scans, scatters): the outermost loop may still run in parallel.
#include "schedule/rules/rules.h"

namespace mcc::schedule {

void rule_opaque(Builder& b, const std::string& block) {
  if (b.target.cores <= 1) return;
  const Stage& stage = b.stage(block);
  const loop::Loop* outer = std::get_if<loop::Loop>(&stage.opaque->node);
  if (!outer || stage.region >= 0) return;
  const Step step = mark_step(block, b.state.vars[at(outer->var)], "parallel");
  if (!legal(b.state, step)) return;
  i64 iterations = 1;
  for (const loop::Loop* loop = outer; loop;) {
    iterations *= loop->extent;
    loop = loop->body.empty() ? nullptr : std::get_if<loop::Loop>(&loop->body.back().node);
  }
  const double seconds = static_cast<double>(iterations) / (b.target.ghz * 1e9);
  b.choice(block + " parallel", {0, 1}, {{}, {step}}, parallel_depth({outer->extent}, seconds, b.target) > 0 ? 1 : 0);
}

}  // namespace mcc::schedule
