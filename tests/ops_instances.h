// One line per operator instance: what the property tests run through lowering, schedules and code generation and
// compare with the reference. Adding an operator needs only its lines, in instances/<family>.h.
//
// An input is written "f32[2,3]", optionally followed by the range of its values "-2..2" (default -2..2, integers
// -5..5, unsigned 0..9) or by "special" (floats: NaN, infinities, zeros and large numbers among others); "_" is a
// missing one. Values are multiples of 1/16, so that sums and products of them are exact in f32.
#pragma once
#include <cmath>
#include <limits>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "base/text.h"
#include "graph/graph.h"
#include "ops/op_def.h"

namespace mcc::testing {

using Ints = std::vector<i64>;
using Floats = std::vector<double>;

struct OpInstance {
  std::string op;
  std::vector<std::pair<std::string, AttrValue>> attrs;
  std::vector<std::string> in;
  int outputs = 1;
  double tolerance = 0;  // allowed relative error; 0: what the output's type suggests. Integers: allowed difference.
};

struct InputSpec {
  TensorType type;
  double low = 0, high = 0;
  bool special = false;
};

inline InputSpec parse_input(const std::string& text) {
  if (text == "_") return {missing_type()};
  std::vector<std::string> words = split_words(text);
  size_t bracket = words[0].find('[');
  InputSpec spec;
  spec.type.dtype = dtype_from_name(words[0].substr(0, bracket)).value();
  for (const std::string& dim : split(words[0].substr(bracket + 1, words[0].size() - bracket - 2), ','))
    spec.type.shape.push_back(to_i64(dim).value());
  spec.low = is_float(spec.type.dtype) ? -2 : is_int(spec.type.dtype) && !is_unsigned(spec.type.dtype) ? -5 : 0;
  spec.high = is_float(spec.type.dtype) ? 2 : is_unsigned(spec.type.dtype) ? 9 : is_int(spec.type.dtype) ? 5 : 1;
  spec.special = words.size() > 1 && words[1] == "special";
  if (words.size() > 1 && !spec.special) {
    size_t dots = words[1].find("..");
    spec.low = to_double(words[1].substr(0, dots)).value();
    spec.high = to_double(words[1].substr(dots + 2)).value();
  }
  return spec;
}

inline Tensor random_tensor(const InputSpec& spec, Rng& rng) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> specials = {NAN, inf, -inf, 0.0, -0.0, 3e4, -3e4, 0.5, 1.5, -2.5, 255.5, 300, -300};
  Tensor tensor(spec.type);
  i64 scale = is_float(spec.type.dtype) ? 16 : 1;
  i64 low = static_cast<i64>(std::ceil(spec.low * static_cast<double>(scale)));
  i64 high = static_cast<i64>(std::floor(spec.high * static_cast<double>(scale)));
  for (i64 i = 0; i < tensor.size(); i++) {
    double value = static_cast<double>(low + rng.below(high - low + 1)) / static_cast<double>(scale);
    tensor.set(i, spec.special ? rng.pick(specials) : value);
  }
  return tensor;
}

// The instance as a node with its inputs, ready for infer_types, evaluate and lower.
struct OpCase {
  Node node;
  std::vector<TensorType> in_types;
  std::vector<Tensor> in;  // none for missing inputs
  std::vector<const Tensor*> in_pointers() const {
    std::vector<const Tensor*> pointers;
    size_t next = 0;
    for (const TensorType& type : in_types) pointers.push_back(is_missing(type) ? nullptr : &in[next++]);
    return pointers;
  }
};

inline OpCase make_case(const OpInstance& instance, u64 seed) {
  OpCase made;
  made.node.op = instance.op;
  made.node.name = "test";
  for (const auto& [name, value] : instance.attrs) made.node.attrs.set(name, value);
  Rng rng(seed);
  for (const std::string& text : instance.in) {
    InputSpec spec = parse_input(text);
    made.node.in.push_back(is_missing(spec.type) ? kNone : static_cast<ValueId>(made.in.size()));
    made.in_types.push_back(spec.type);
    if (!is_missing(spec.type)) made.in.push_back(random_tensor(spec, rng));
  }
  for (int i = 0; i < instance.outputs; i++) made.node.out.push_back(100 + i);
  return made;
}

inline std::string describe(const OpInstance& instance) { return instance.op + "(" + join(instance.in, ", ") + ")"; }

inline void PrintTo(const OpInstance& instance, std::ostream* out) { *out << describe(instance); }

// Relative for floats; the largest |difference| for other types.
inline double allowed_error(const OpInstance& instance, DType dtype) {
  if (instance.tolerance > 0) return instance.tolerance;
  switch (dtype) {
    case DType::f64: return 1e-6;  // attributes and some constants are f32
    case DType::f32: return 2e-6;
    case DType::f16: return 2e-3;
    case DType::bf16: return 1e-2;
    default: return 0;
  }
}

}  // namespace mcc::testing

#include "instances/attention.h"
#include "instances/conv.h"
#include "instances/elementwise.h"
#include "instances/gather.h"
#include "instances/matmul.h"
#include "instances/movement.h"
#include "instances/normalize.h"
#include "instances/pool.h"
#include "instances/quantize.h"
#include "instances/recurrent.h"
#include "instances/reduce.h"
#include "instances/resize.h"
#include "instances/sample.h"
#include "instances/select.h"

namespace mcc::testing {

inline std::vector<OpInstance> op_instances() {
  std::vector<OpInstance> all;
  for (const std::vector<OpInstance>& family :
       {attention_instances(), conv_instances(), elementwise_instances(), gather_instances(), matmul_instances(),
        movement_instances(), normalize_instances(), pool_instances(), quantize_instances(), recurrent_instances(),
        reduce_instances(), resize_instances(), sample_instances(), select_instances()})
    all.insert(all.end(), family.begin(), family.end());
  return all;
}

}  // namespace mcc::testing
