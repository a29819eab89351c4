#include "ops/work.h"

#include <algorithm>
#include <cmath>

namespace mcc {

double work_estimate(const Node& node, Types in, Types out) {
  double product = 1, largest = 1, taps = 1;
  for (const i64 extent : node.attrs.get_ints("kernel_shape", {})) taps *= static_cast<double>(extent);
  for (const TensorType& type : in.first(std::min<size_t>(in.size(), 2)))
    if (!is_missing(type)) product *= std::max<double>(1, static_cast<double>(elements(type.shape)));
  for (const TensorType& type : out)
    if (!is_missing(type)) largest = std::max(largest, static_cast<double>(elements(type.shape)));
  const OpDef* op = find_op(node.op);
  const bool contraction = op && (op->fuse == FuseKind::anchor || op->fuse == FuseKind::opaque) && in.size() >= 2;
  return std::max(contraction ? std::sqrt(product * largest) : largest, largest * taps);
}

}  // namespace mcc
