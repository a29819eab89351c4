// Winograd's minimal filtering F(m x m, 3 x 3) (Lavin & Gray, "Fast Algorithms for Convolutional Neural Networks",
// CVPR 2016): a tile of m x m outputs of a 3x3 convolution with stride 1 takes (m+2)^2 multiplications for each pair of
// channels instead of 9 m^2.
//
// With d a tile of (m+2) x (m+2) inputs and g the 3x3 weights, both of one channel:
//   outputs = A^T [ sum over input channels of (G g G^T) * (B^T d B) ] A,   * element by element
#pragma once
#include <functional>
#include <vector>

#include "graph/tensor.h"
#include "loop/loop.h"

namespace mcc::loop {

using Matrix = std::vector<std::vector<double>>;  // rows

struct Winograd {
  i64 m = 0;
  Matrix bt;  // (m+2) x (m+2)
  Matrix g;   // (m+2) x 3
  Matrix at;  // m x (m+2)
  i64 tile() const { return m + 2; }
};

const Winograd* winograd(i64 m);  // of m = 2, 4 and 6; nullptr for others

// G g G^T of weights [OC, IC, 3, 3], as [m+2, m+2, OC, IC].
Tensor winograd_weights(const Tensor& weights, i64 m);

// Row `row` of a matrix (a variable of extent matrix.size()) times the vector x(0), x(1), ... Once `row` is known (its
// loop is unrolled), zeros vanish and rows that differ in signs share what they have in common: in the form of B^T
// sums over the even and over the odd columns, in that of A^T sums and differences of the columns 2j-1 and 2j.
Expr times_bt(const Winograd& w, const Expr& row, const std::function<Expr(i64)>& x);
Expr times_at(const Winograd& w, const Expr& row, const std::function<Expr(i64)>& x);

}  // namespace mcc::loop
