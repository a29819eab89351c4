// What a Resize node means, read once: for each axis that changes, where output positions fall in the input.
#pragma once
#include <string>
#include <vector>

#include "ops/lib.h"

namespace mcc::ops {

// Output position v is input position (a * v + b) / d, d > 0.
struct Position {
  i64 a = 1, b = 0, d = 1;
};

struct ResizeAxis {
  size_t axis = 0;
  i64 in = 0;
  Position position;
};

struct Resize {
  enum Kind : u8 { nearest, linear, cubic } kind = nearest;
  std::string rounding;  // nearest_mode
  double cubic_a = -0.75;
  bool exclude_outside = false;  // taps outside the input weigh nothing
  bool crops = false;            // tf_crop_and_resize: positions outside the input give outside_value
  double outside_value = 0;
  std::vector<ResizeAxis> axes;
};

Resize read_resize(const Node& node, const Shape& in, const Shape& out);  // throws Error
void resize_reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out);

}  // namespace mcc::ops
