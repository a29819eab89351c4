// Instances of the family recurrent; see ops_instances.h. Sizes: 5 steps, batch 2, 3 inputs, 4 hidden.
#pragma once

namespace mcc::testing {

// The inputs of one layer: X W R and as many of B lens initial_h initial_c P as `optional` asks for (a letter each: b l
// h c p).
inline std::vector<std::string> recurrent_inputs(i64 gates, i64 directions, const std::string& optional,
                                                 const std::string& dtype = "f32", bool batch_first = false) {
  auto shape = [&](i64 a, i64 b, i64 c) { return fmt::format("{}[{},{},{}] -1..1", dtype, a, b, c); };
  auto matrix = [&](i64 a, i64 b) { return fmt::format("{}[{},{}] -1..1", dtype, a, b); };
  std::string x = batch_first ? shape(2, 5, 3) : shape(5, 2, 3);
  std::string state = batch_first ? shape(2, directions, 4) : shape(directions, 2, 4);
  std::vector<std::pair<char, std::string>> slots = {{'b', matrix(directions, 2 * gates * 4)},
                                                     {'l', "i32[2] 1..5"},
                                                     {'h', state},
                                                     {'c', state},
                                                     {'p', matrix(directions, 12)}};
  std::vector<std::string> in = {x, shape(directions, gates * 4, 3), shape(directions, gates * 4, 4)};
  size_t last = 0;
  for (size_t i = 0; i < slots.size(); i++)
    if (optional.find(slots[i].first) != std::string::npos) last = i + 1;
  for (size_t i = 0; i < last; i++)
    in.push_back(optional.find(slots[i].first) != std::string::npos ? slots[i].second : "_");
  return in;
}

inline void add_cells(std::vector<OpInstance>& all, const std::string& op, i64 gates) {
  constexpr double kTolerance = 1e-5;
  int outputs = op == "LSTM" ? 3 : 2;
  const std::string reverse = "reverse", both = "bidirectional";
  auto add = [&](std::vector<std::pair<std::string, AttrValue>> attrs, std::vector<std::string> in) {
    all.push_back({op, std::move(attrs), std::move(in), outputs, kTolerance});
  };
  add({}, recurrent_inputs(gates, 1, ""));
  add({}, recurrent_inputs(gates, 1, "bh"));
  add({{"direction", reverse}}, recurrent_inputs(gates, 1, "b"));
  add({{"direction", both}}, recurrent_inputs(gates, 2, "bh"));
  add({{"direction", both}}, recurrent_inputs(gates, 2, "blh"));
  add({{"clip", 0.25}}, recurrent_inputs(gates, 1, "b"));
  add({{"layout", i64{1}}}, recurrent_inputs(gates, 1, "bh", "f32", true));
  all.push_back({op, {}, recurrent_inputs(gates, 1, "b", "f16"), outputs, 5e-3});
}

inline std::vector<OpInstance> recurrent_instances() {
  std::vector<OpInstance> all;
  add_cells(all, "RNN", 1);
  add_cells(all, "GRU", 3);
  add_cells(all, "LSTM", 4);
  all.push_back({"GRU", {{"linear_before_reset", i64{1}}}, recurrent_inputs(3, 1, "bh"), 2, 1e-5});
  all.push_back({"GRU", {{"linear_before_reset", i64{1}}}, recurrent_inputs(3, 1, "l"), 2, 1e-5});
  all.push_back({"LSTM", {}, recurrent_inputs(4, 1, "bhcp"), 3, 1e-5});
  all.push_back({"LSTM", {{"direction", "bidirectional"}}, recurrent_inputs(4, 2, "blhcp"), 3, 1e-5});
  all.push_back({"LSTM", {{"input_forget", i64{1}}}, recurrent_inputs(4, 1, "bp"), 3, 1e-5});
  all.push_back({"LSTM",
                 {{"activations", "Softsign HardSigmoid ScaledTanh"},
                  {"activation_alpha", Floats{0.25, 1.5}},
                  {"activation_beta", Floats{0.75, 0.5}}},
                 recurrent_inputs(4, 1, "b"),
                 3,
                 1e-5});
  for (const char* f : {"Relu", "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "Sigmoid", "HardSigmoid", "Elu",
                        "Softsign", "Softplus"})
    all.push_back({"RNN", {{"activations", f}}, recurrent_inputs(1, 1, "b"), 2, 1e-5});
  return all;
}

}  // namespace mcc::testing
