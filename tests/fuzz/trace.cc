// Schedules, as the tuning log holds them: what is accepted must print to a text that means the same, and applying it
// to a program gives a scheduled program that keeps the rules, or a reason.
#include "schedule/trace.h"
#include "fuzz/fuzz.h"
#include "loop/loop_ops.h"

namespace {

constexpr const char* kProgram = R"(func f(input x: f32[30,20], constant w: f32[3,20,50], output y: f32[30,50]) {
  temp p: f32[32,20]
  temp a: f32[30,50]
  for i in 32 { for j in 20 { p[i, j] = select(0 < i && i < 31, x[i - 1, j], 0.0) @pad } }
  for m in 30 { for n in 50 { a[m, n] = 0.0 @mul.init } }
  for m in 30 { for n in 50 { for t in 3 { for k in 20 { a[m, n] += p[m + t, k] * w[t, k, n] @mul } } } }
  for r in 30 { for c in 50 { y[r, c] = a[r, c] + 1.0 @out } }
})";

void parse_and_apply(std::string_view text) {
  static const mcc::loop::Func program = mcc::loop::parse_func(kProgram);
  const mcc::Trace trace = mcc::parse_trace(text);
  MCC_CHECK(read_back([&] { return mcc::parse_trace(mcc::to_string(trace)); }) == trace);
  const mcc::Applied applied = mcc::apply(program, trace);
  MCC_CHECK(applied.func.has_value() == applied.why_not.empty());
  if (applied.func) MCC_CHECK(mcc::loop::verify(*applied.func).empty());
}

}  // namespace

MCC_FUZZ_TARGET(parse_and_apply)
