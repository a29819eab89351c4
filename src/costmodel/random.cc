// A model that knows nothing: the base line of the ablation, and a check that search works without one.
#include "base/rng.h"
#include "costmodel/cost_model.h"

namespace mcc {
namespace {

class RandomModel : public CostModel {
 public:
  explicit RandomModel(u64 seed) : rng_(seed) {}
  std::string name() const override { return "random"; }
  std::vector<double> score(const Task&, std::span<const Scheduled> candidates) override {
    std::vector<double> scores;
    for (size_t i = 0; i < candidates.size(); i++) scores.push_back(rng_.uniform());
    return scores;
  }
  void update(const Task&, std::span<const Scheduled>, std::span<const double>) override {}

 private:
  Rng rng_;
};

}  // namespace

std::unique_ptr<CostModel> random_model(u64 seed) { return std::make_unique<RandomModel>(seed); }

}  // namespace mcc
