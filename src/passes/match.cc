// See match.h. Depths are limited because patterns are small; that also bounds the work for each node.
#include "passes/match.h"

#include <algorithm>
#include <cmath>

namespace mcc {
namespace {

constexpr int kDepth = 4;

// One step of as_scaled.
std::optional<Scaled> unscale(const Rewriter& rw, ValueId v) {
  const Node* node = rw.maker(v);
  if (!node || !is_op(*node, {"Mul", "Div"})) return std::nullopt;
  if (const auto number = splat(rw.constant(node->in[1])); number && rw.type(node->in[0]) == rw.type(v))
    return Scaled{node->in[0], node->op == "Mul" ? *number : 1 / *number};
  if (node->op == "Div") return std::nullopt;
  if (const auto number = splat(rw.constant(node->in[0])); number && rw.type(node->in[1]) == rw.type(v))
    return Scaled{node->in[1], *number};
  return std::nullopt;
}

// Multiplies v's parts into `number`, crossing wanted factors off; false when there is a part that nobody wants.
bool take_factors(const Rewriter& rw, ValueId v, int depth, std::vector<ValueId>& wanted, double& number) {
  const auto found = std::find(wanted.begin(), wanted.end(), v);
  if (found != wanted.end()) {
    wanted.erase(found);
    return true;
  }
  if (const auto constant = splat(rw.constant(v))) {
    number *= *constant;
    return true;
  }
  if (const auto scaled = unscale(rw, v)) {
    number *= scaled->factor;
    return depth > 0 && take_factors(rw, scaled->x, depth - 1, wanted, number);
  }
  const Node* product = rw.maker(v, "Mul");
  return product && depth > 0 && take_factors(rw, product->in[0], depth - 1, wanted, number) &&
         take_factors(rw, product->in[1], depth - 1, wanted, number);
}

void collect_factors(const Rewriter& rw, ValueId v, int depth, std::vector<ValueId>& factors) {
  const auto scaled = unscale(rw, v);
  const Node* product = rw.maker(v, "Mul");
  if (depth > 0 && scaled) return collect_factors(rw, scaled->x, depth - 1, factors);
  if (depth > 0 && product) {
    collect_factors(rw, product->in[0], depth - 1, factors);
    return collect_factors(rw, product->in[1], depth - 1, factors);
  }
  factors.push_back(v);
}

}  // namespace

std::vector<Scaled> as_scaled(const Rewriter& rw, ValueId v) {
  std::vector<Scaled> ways{{v, 1}};
  while (ways.size() <= kDepth) {
    const auto next = unscale(rw, ways.back().x);
    if (!next) break;
    ways.push_back({next->x, next->factor * ways.back().factor});
  }
  return ways;
}

std::optional<Scaled> as_shifted(const Rewriter& rw, ValueId v) {
  const Node* sum = rw.maker(v, "Add");
  if (!sum) return std::nullopt;
  for (size_t i = 0; i < 2; i++)
    if (const auto number = splat(rw.constant(sum->in[i])); number && rw.type(sum->in[1 - i]) == rw.type(v))
      return Scaled{sum->in[1 - i], *number};
  return std::nullopt;
}

std::optional<double> as_product(const Rewriter& rw, const std::vector<ValueId>& parts, std::vector<ValueId> factors) {
  double number = 1;
  for (const ValueId part : parts)
    if (!take_factors(rw, part, kDepth, factors, number)) return std::nullopt;
  return factors.empty() ? std::optional(number) : std::nullopt;
}

std::vector<ValueId> factors_of(const Rewriter& rw, ValueId v) {
  std::vector<ValueId> factors;
  collect_factors(rw, v, 3, factors);
  return factors;
}

bool close(double a, double b) { return std::abs(a - b) <= 1e-3 * std::abs(b); }

}  // namespace mcc
