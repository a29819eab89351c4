// What the matmul files share: the dimensions of one product and the parsed equation of an Einsum.
#pragma once
#include <string>
#include <vector>

#include "ops/lib.h"

namespace mcc::ops {

// A * B with numpy's rules: the last two dimensions are matrices (swapped for transA, transB), those before broadcast;
// a one-dimensional A is a row, B a column, and the output lacks that dimension.
struct Product {
  Shape batch;
  i64 m = 1, n = 1, k = 0;
  bool trans_a = false, trans_b = false;
  bool has_m = true, has_n = true;
  Shape out() const;
};
Product product_of(const Node& node, const Shape& a, const Shape& b);

// Every operand's and the output's labels, one for each dimension. Dimensions under "..." have labels "0", "1", ...
// from the right.
struct Einsum {
  std::vector<std::string> in;
  std::string out, summed;
  std::vector<i64> extent;  // of each label, indexed by character
  i64 extent_of(char label) const { return extent[static_cast<unsigned char>(label)]; }
  Shape extents_of(const std::string& labels) const;
};
Einsum parse_einsum(const std::string& equation, Types in);  // throws Error

loop::Func lower_matmul(const Node& node, Types in, Types out);
loop::Func lower_einsum(const Node& node, Types in, Types out);
OpDef determinant_op();  // Det
void matmul_reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out);
void gemm_reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out);
void einsum_reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out);

}  // namespace mcc::ops
