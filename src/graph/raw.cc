#include "graph/raw.h"

namespace mcc {

void make_booleans_valid(Tensor& tensor) {
  if (tensor.type.dtype != DType::boolean) return;
  for (i64 i = 0; i < tensor.byte_size(); i++) tensor.bytes()[i] = std::byte{tensor.bytes()[i] != std::byte{0}};
}

}  // namespace mcc
