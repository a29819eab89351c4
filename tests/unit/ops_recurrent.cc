// Recurrent references: cells small enough to follow by hand, and the relations between directions and lengths.
#include <gtest/gtest.h>

#include "ops_instances.h"

namespace mcc::testing {
namespace {

struct Layer {
  std::string op;
  std::vector<std::pair<std::string, AttrValue>> attrs;
  std::vector<Tensor> in;  // X W R, then B
};

Tensor filled(Shape shape, double value) {
  Tensor t({DType::f32, std::move(shape)});
  for (i64 i = 0; i < t.size(); i++) t.set(i, value);
  return t;
}

std::vector<Tensor> run(const Layer& layer, const Tensor* lens = nullptr) {
  OpCase made;
  made.node.op = layer.op;
  made.node.out = layer.op == "LSTM" ? std::vector<ValueId>{0, 1, 2} : std::vector<ValueId>{0, 1};
  for (const auto& [name, value] : layer.attrs) made.node.attrs.set(name, value);
  made.in = layer.in;
  for (const Tensor& tensor : made.in) made.in_types.push_back(tensor.type);
  while (lens && made.in_types.size() < 4) made.in_types.push_back(missing_type());
  if (lens) {
    made.in.push_back(*lens);
    made.in_types.push_back(lens->type);
  }
  return evaluate(made.node, made.in_pointers(), made.in_types);
}

// One unit whose input is x, all weights one.
Layer unit(const std::string& op, i64 gates, const std::vector<float>& x) {
  i64 steps = static_cast<i64>(x.size());
  return {
      op, {}, {Tensor::of<float>(DType::f32, {steps, 1, 1}, x), filled({1, gates, 1}, 1), filled({1, gates, 1}, 1)}};
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(RnnReference, TwoSteps) {
  std::vector<Tensor> out = run(unit("RNN", 1, {0.5f, 0.25f}));
  double first = std::tanh(0.5), second = std::tanh(0.25 + first);
  EXPECT_NEAR(out[0].get(0), first, 1e-6);
  EXPECT_NEAR(out[0].get(1), second, 1e-6);
  EXPECT_NEAR(out[1].get(0), second, 1e-6);
}

TEST(LstmReference, TwoSteps) {
  std::vector<Tensor> out = run(unit("LSTM", 4, {0.5f, 0.25f}));
  double h = 0, c = 0;
  for (double x : {0.5, 0.25}) {
    double gate = sigmoid(x + h);
    c = gate * c + gate * std::tanh(x + h);
    h = gate * std::tanh(c);
  }
  EXPECT_NEAR(out[1].get(0), h, 1e-6);
  EXPECT_NEAR(out[2].get(0), c, 1e-6);
}

TEST(GruReference, ResetBeforeOrAfterTheProduct) {
  Layer layer = unit("GRU", 3, {0.5f, 0.25f});
  Tensor bias({DType::f32, {1, 6}});
  bias.set(5, 2);  // Rbh: inside the reset gate only when linear_before_reset
  layer.in.push_back(bias);
  for (i64 linear : {0, 1}) {
    layer.attrs = {{"linear_before_reset", linear}};
    double h = 0;
    for (double x : {0.5, 0.25}) {
      double z = sigmoid(x + h), r = z;
      double candidate = std::tanh(x + (linear ? r * (h + 2) : r * h + 2));
      h = (1 - z) * candidate + z * h;
    }
    EXPECT_NEAR(run(layer)[1].get(0), h, 1e-6);
  }
}

TEST(RecurrentReference, ReverseReadsBackwards) {
  Layer forward = unit("LSTM", 4, {1, 2, 3}), reverse = unit("LSTM", 4, {3, 2, 1});
  reverse.attrs = {{"direction", "reverse"}};
  std::vector<Tensor> a = run(forward), b = run(reverse);
  EXPECT_EQ(a[1].get(0), b[1].get(0));
  for (i64 t = 0; t < 3; t++) EXPECT_EQ(a[0].get(t), b[0].get(2 - t));
}

TEST(RecurrentReference, LengthsCutSequences) {
  Tensor lens = Tensor::of<std::int32_t>(DType::i32, {1}, {2});
  for (const char* direction : {"forward", "reverse"}) {
    Layer whole = unit("GRU", 3, {1, 2}), cut = unit("GRU", 3, {1, 2, 9});
    whole.attrs = cut.attrs = {{"direction", direction}};
    std::vector<Tensor> want = run(whole), got = run(cut, &lens);
    EXPECT_EQ(got[1].get(0), want[1].get(0));
    EXPECT_EQ(got[0].get(1), want[0].get(1));
    EXPECT_EQ(got[0].get(2), 0);
  }
}

TEST(RecurrentInference, Refusals) {
  Layer layer = unit("LSTM", 3, {1});
  EXPECT_THROW(run(layer), Error);
  layer = unit("RNN", 1, {1});
  layer.attrs = {{"activations", "Foo"}};
  EXPECT_THROW(run(layer), Error);
  layer.attrs = {{"activations", "Tanh Tanh"}};
  EXPECT_THROW(run(layer), Error);
  layer.attrs = {{"direction", "sideways"}};
  EXPECT_THROW(run(layer), Error);
}

}  // namespace
}  // namespace mcc::testing
