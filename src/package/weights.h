// The constants of a model in the form its kernels read them, as one block of bytes.
#pragma once
#include <map>
#include <utility>
#include <vector>

#include "package/package.h"

namespace mcc {

struct WeightBlob {
  struct Piece {
    i64 offset = 0;  // 64-byte aligned, ascending
    Tensor data;
  };
  std::vector<Piece> pieces;
  i64 bytes = 0;
  std::map<std::pair<int, int>, i64> offsets;  // (call, argument) -> where its data starts
};

// Every argument of every call that is a constant, packed as the scheduled kernel wants it. Equal bytes are stored
// once; a constant that kernels want in several layouts has one copy for each.
WeightBlob collect_weights(const LoweredModel& model, const std::vector<loop::Func>& scheduled);

}  // namespace mcc
