// What operators of classical models (ai.onnx.ml) share; see compat_ml.cc.
#pragma once
#include "frontend/importer.h"

namespace mcc::frontend {

constexpr std::string_view kPostLimits = "post_transform NONE, LOGISTIC or SOFTMAX";
constexpr std::string_view kClassLimits =
    "post_transform NONE, LOGISTIC or SOFTMAX; where labels are strings only the scores";

// Features [rows, features], of one row where x is a list: f32, or f64 as they are.
ValueId feature_rows(const OnnxCall& call, ValueId x);

ValueId floats(const OnnxCall& call, const std::vector<double>& list, Shape shape);  // an f32 constant

// Attribute 'post_transform': NONE, LOGISTIC or SOFTMAX, else Error; and what it makes of scores [rows, classes].
std::string post_transform_of(const OnnxCall& call);
ValueId post_transform(const OnnxCall& call, ValueId scores);

// The labels of a classifier, attribute `numbers` or classlabels_strings.
class ClassLabels {
 public:
  ClassLabels(const OnnxCall& call, const std::string& numbers);

  i64 count() const { return count_; }
  ValueId at_index(const OnnxCall& call, ValueId index) const;     // [rows] -> [rows]; kNone where nobody asks for it
  ValueId of_largest(const OnnxCall& call, ValueId scores) const;  // [rows, classes] -> [rows], ties to the first

 private:
  std::vector<i64> numbers_;  // empty: strings
  i64 count_ = 0;
};

}  // namespace mcc::frontend
