// Pre-flight of a model: whether it can be compiled, everything that stands in its way, how large the result will be
// and how long tuning will take; before any time is spent on it.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "frontend/frontend.h"
#include "package/package.h"

namespace mcc {

struct Plan {  // what is asked for
  std::string model;
  Target target;
  bool strict = false;
  i64 trials = 0;
  double time_budget_s = 0;  // 0: none
};

struct Preflight {
  Survey survey;  // its graph has been taken
  // When it can be compiled:
  std::optional<LoweredModel> model;
  std::vector<Task> tasks;
  Sizes sizes;
  double port_bytes = 0;  // of inputs and outputs
  i64 multiply_adds = 0;  // of one run
  double tuning_s = 0;    // estimated

  bool can_compile() const { return model.has_value(); }
};

Preflight preflight(const ImportOptions& options, const Plan& plan);  // Error only for files that hold no model

std::string report(const Preflight& flight, const Plan& plan);   // for people, all of it
std::string summary(const Preflight& flight, const Plan& plan);  // one line, of a model that can be compiled
nlohmann::ordered_json to_json(const Preflight& flight, const Plan& plan);
[[noreturn]] void refuse(const Preflight& flight, const Plan& plan);  // Error: the first obstacle, how many more

}  // namespace mcc
