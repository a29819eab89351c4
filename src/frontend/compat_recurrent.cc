// LSTM, GRU and RNN. The batch-first layout of opset 14 becomes transposes around the time-first operator; sequence
// lengths may be data, and are dropped when they are known and every sequence has full length.
#include <algorithm>

#include "frontend/importer.h"

namespace mcc::frontend {
namespace {

constexpr size_t kLengths = 4, kInitialH = 5, kInitialC = 6;

void drop_full_lengths(OnnxCall& call, i64 steps) {
  if (!call.has(kLengths) || !call.builder.known(call.in[kLengths])) return;
  const std::vector<i64> lengths = call.known_ints(kLengths, "sequence_lens");
  for (const i64 length : lengths)
    if (length < 0 || length > steps) fail("a sequence has length {} of {} steps", length, steps);
  if (std::all_of(lengths.begin(), lengths.end(), [&](i64 length) { return length == steps; }))
    call.in[kLengths] = kNone;
}

Outputs recurrent(OnnxCall& call) {
  if (call.rank(0) != 3) fail("input {} is not of rank 3", to_string(call.shape(0)));
  const bool batch_first = call.attrs.get_int("layout", 0) != 0;
  call.attrs.erase("layout");
  call.attrs.erase("output_sequence");
  drop_full_lengths(call, call.shape(0)[batch_first ? 1 : 0]);
  if (!batch_first) return import_plain(call);

  for (const size_t i : {size_t{0}, kInitialH, kInitialC})
    if (call.has(i)) call.in[i] = call.transpose(call.in[i], {1, 0, 2});
  Outputs results = import_plain(call);
  for (size_t i = 0; i < results.size(); i++) {
    if (results[i] == kNone) continue;
    results[i] = i == 0 ? call.transpose(results[i], {2, 0, 1, 3}) : call.transpose(results[i], {1, 0, 2});
  }
  return results;
}

constexpr OnnxOp kOps[] = {
    {"LSTM", recurrent,
     "activation_alpha activation_beta activations clip direction hidden_size input_forget layout output_sequence"},
    {"GRU", recurrent,
     "activation_alpha activation_beta activations clip direction hidden_size linear_before_reset layout "
     "output_sequence"},
    {"RNN", recurrent,
     "activation_alpha activation_beta activations clip direction hidden_size layout output_sequence"},
};

}  // namespace

std::span<const OnnxOp> recurrent_imports() { return kOps; }

}  // namespace mcc::frontend
