// How well a ranking predicted the measured one (the two figures of Zheng et al., Ansor, OSDI 2020, section 7.4).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "costmodel/cost_model.h"

namespace mcc {
namespace {

std::vector<size_t> order_by(size_t n, const auto& before) {
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), before);
  return order;
}

}  // namespace

RankQuality rank_quality(std::span<const double> scores, std::span<const double> seconds, int k) {
  RankQuality quality;
  double right = 0;
  for (size_t i = 0; i < scores.size(); i++) {
    for (size_t j = i + 1; j < scores.size(); j++) {
      const auto [fast, slow] = std::minmax(seconds[i], seconds[j]);
      if (std::isinf(fast) || slow <= fast * (1 + kDistinct)) continue;
      quality.pairs++;
      if (scores[i] == scores[j])
        right += 0.5;
      else if ((seconds[i] < seconds[j]) == (scores[i] > scores[j]))
        right++;
    }
  }
  if (quality.pairs > 0) quality.pairwise_accuracy = right / static_cast<double>(quality.pairs);
  const size_t top = std::min(static_cast<size_t>(k), scores.size());
  if (top == 0) return quality;
  const auto fastest = order_by(scores.size(), [&](size_t a, size_t b) { return seconds[a] < seconds[b]; });
  const auto chosen = order_by(scores.size(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  size_t found = 0;
  const auto end = chosen.begin() + static_cast<i64>(top);
  for (size_t i = 0; i < top; i++) found += static_cast<size_t>(std::find(chosen.begin(), end, fastest[i]) != end);
  quality.recall_at_k = static_cast<double>(found) / static_cast<double>(top);
  return quality;
}

}  // namespace mcc
