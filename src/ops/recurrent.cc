// Recurrent layers LSTM, GRU and RNN: attributes, shapes and the table.
#include "ops/recurrent.h"

#include <algorithm>

#include "base/text.h"

namespace mcc::ops {
namespace {

// Activation functions, with the parameters they take and their defaults.
struct Known {
  std::string_view name;
  bool has_alpha, has_beta;
  double alpha, beta;
};
constexpr Known kActivations[] = {
    {"affine", true, true, 1, 0},           {"elu", true, false, 1, 0},
    {"hardsigmoid", true, true, 0.2, 0.5},  {"leakyrelu", true, false, 0.01, 0},
    {"relu", false, false, 0, 0},           {"scaledtanh", true, true, 1, 1},
    {"sigmoid", false, false, 0, 0},        {"softplus", false, false, 0, 0},
    {"softsign", false, false, 0, 0},       {"tanh", false, false, 0, 0},
    {"thresholdedrelu", true, false, 1, 0},
};

CellKind kind_of(std::string_view op) {
  return op == "LSTM" ? CellKind::lstm : op == "GRU" ? CellKind::gru : CellKind::rnn;
}

std::vector<std::string> default_activations(CellKind kind) {
  if (kind == CellKind::lstm) return {"sigmoid", "tanh", "tanh"};
  if (kind == CellKind::gru) return {"sigmoid", "tanh"};
  return {"tanh"};
}

// A list of strings is one attribute with blanks between.
std::vector<std::string> activation_names(const Node& node) {
  return split_words(lower_case(node.attrs.get_string("activations", "")));
}

// The parameters are consumed in order by the functions that take them.
struct ParameterList {
  std::vector<double> values;
  size_t next = 0;
  double take(double otherwise) { return next < values.size() ? values[next++] : otherwise; }
};

Activation read_activation(const std::string& name, ParameterList& alphas, ParameterList& betas) {
  auto known =
      std::find_if(std::begin(kActivations), std::end(kActivations), [&](const Known& k) { return k.name == name; });
  if (known == std::end(kActivations)) fail("activation '{}' is not known", name);
  return {name, known->has_alpha ? alphas.take(known->alpha) : 0, known->has_beta ? betas.take(known->beta) : 0};
}

void read_directions(Recurrent& r, const Node& node) {
  std::string direction = node.attrs.get_string("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    fail("direction '{}' is not forward, reverse or bidirectional", direction);
  r.directions.resize(direction == "bidirectional" ? 2 : 1);
  r.directions.back().reverse = direction != "forward";
  std::vector<std::string> defaults = default_activations(r.kind), names = activation_names(node);
  size_t each = defaults.size();
  if (!names.empty() && names.size() != each * r.directions.size())
    fail("{} activations are needed, not {}", each * r.directions.size(), names.size());
  ParameterList alphas{node.attrs.get_floats("activation_alpha", {})},
      betas{node.attrs.get_floats("activation_beta", {})};
  for (size_t d = 0; d < r.directions.size(); d++)
    for (size_t i = 0; i < each; i++)
      r.directions[d].activations.push_back(
          read_activation(names.empty() ? defaults[i] : names[d * each + i], alphas, betas));
}

void require(Types in, size_t i, const Shape& shape, std::string_view what) {
  if (present(in, i) && in[i].shape != shape)
    fail("{} {} must have shape {}", what, to_string(in[i]), to_string(shape));
}

std::vector<TensorType> infer_recurrent(const Node& node, Types in) {
  Recurrent r = recurrent_of(node, in);
  TensorType state{in[0].dtype, r.state_shape()};
  std::vector<TensorType> out{{in[0].dtype, r.output_shape()}, state};
  if (r.kind == CellKind::lstm) out.push_back(state);
  return out;
}

constexpr OpDef kOps[] = {
    {"GRU", FuseKind::opaque, 3, 6, infer_recurrent, lower_recurrent, recurrent_reference},
    {"LSTM", FuseKind::opaque, 3, 8, infer_recurrent, lower_recurrent, recurrent_reference},
    {"RNN", FuseKind::opaque, 3, 6, infer_recurrent, lower_recurrent, recurrent_reference},
};

}  // namespace

Shape Recurrent::output_shape() const { return output_index(steps, direction_count(), batch, hidden); }
Shape Recurrent::state_shape() const { return state_index(direction_count(), batch, hidden); }

Recurrent recurrent_of(const Node& node, Types in) {
  require_rank(in[0], 3, "X");
  require_rank(in[2], 3, "R");
  if (!is_float(in[0].dtype)) fail("input {} must be of a floating-point type", to_string(in[0]));
  Recurrent r;
  r.kind = kind_of(node.op);
  r.batch_first = node.attrs.get_int("layout", 0) != 0;
  r.steps = in[0].shape[r.batch_first ? 1 : 0];
  r.batch = in[0].shape[r.batch_first ? 0 : 1];
  r.input = in[0].shape[2];
  r.hidden = in[2].shape[2];
  if (i64 size = node.attrs.get_int("hidden_size", r.hidden); size != r.hidden)
    fail("hidden_size {} does not fit R {}", size, to_string(in[2]));
  r.clip = node.attrs.get_float("clip", 0);
  r.input_forget = node.attrs.get_int("input_forget", 0) != 0;
  r.linear_before_reset = node.attrs.get_int("linear_before_reset", 0) != 0;
  read_directions(r, node);
  i64 d = r.direction_count();
  require(in, 1, {d, r.rows(), r.input}, "W");
  require(in, 2, {d, r.rows(), r.hidden}, "R");
  require(in, kBias, {d, 2 * r.rows()}, "B");
  require(in, kLens, {r.batch}, "sequence_lens");
  require(in, kInitialH, r.state_shape(), "initial_h");
  require(in, kInitialC, r.state_shape(), "initial_c");
  require(in, kPeephole, {d, 3 * r.hidden}, "P");
  return r;
}

}  // namespace mcc::ops

std::span<const mcc::OpDef> mcc::recurrent_ops() { return ops::kOps; }
