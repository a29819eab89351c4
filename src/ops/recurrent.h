// What the recurrent files share: one LSTM, GRU or RNN with its sizes, directions and activations read and checked
// once.
//
// Shapes are ONNX's: X [T,B,I], W [D,G*H,I], R [D,G*H,H], B [D,2*G*H], lens [B], initial_h and initial_c [D,B,H], P
// [D,3*H]; Y [T,D,B,H], Y_h and Y_c [D,B,H]. With layout 1 the batch comes first: X [B,T,I], Y [B,T,D,H], states
// [B,D,H]. Gates lie in the order of the operator's definition: LSTM i o f c, GRU z r h, RNN one.
#pragma once
#include <string>
#include <vector>

#include "ops/lib.h"

namespace mcc::ops {

enum class CellKind : u8 { lstm, gru, rnn };

struct Activation {
  std::string name;
  double alpha = 0, beta = 0;
};

struct Direction {
  bool reverse = false;
  std::vector<Activation> activations;  // LSTM f g h, GRU f g, RNN f
};

struct Recurrent {
  CellKind kind = CellKind::lstm;
  i64 steps = 0, batch = 0, input = 0, hidden = 0;
  std::vector<Direction> directions;
  bool batch_first = false;
  double clip = 0;  // 0: none
  bool input_forget = false, linear_before_reset = false;

  i64 gates() const { return kind == CellKind::lstm ? 4 : kind == CellKind::gru ? 3 : 1; }
  i64 rows() const { return gates() * hidden; }
  i64 direction_count() const { return static_cast<i64>(directions.size()); }
  Shape output_shape() const;
  Shape state_shape() const;
  // The index of a tensor by its logical coordinates, in the order of the layout.
  template <typename T>
  std::vector<T> input_index(T t, T b, T i) const {
    return batch_first ? std::vector<T>{b, t, i} : std::vector<T>{t, b, i};
  }
  template <typename T>
  std::vector<T> output_index(T t, T d, T b, T j) const {
    return batch_first ? std::vector<T>{b, t, d, j} : std::vector<T>{t, d, b, j};
  }
  template <typename T>
  std::vector<T> state_index(T d, T b, T j) const {
    return batch_first ? std::vector<T>{b, d, j} : std::vector<T>{d, b, j};
  }
};

// Positions of the optional inputs.
constexpr size_t kBias = 3, kLens = 4, kInitialH = 5, kInitialC = 6, kPeephole = 7;

Recurrent recurrent_of(const Node& node, Types in);

loop::Func lower_recurrent(const Node& node, Types in, Types out);
void recurrent_reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out);

}  // namespace mcc::ops
