// Classical models (ai.onnx.ml), as scikit-learn's exporter writes them: linear models and what prepares their inputs.
// Ensembles of trees are in compat_trees.cc. Strings are refused, as everywhere; ZipMap, which would make maps of
// labels and scores, hands the scores on.
#include "frontend/compat_ml.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace mcc::frontend {

ValueId feature_rows(const OnnxCall& call, ValueId x) {
  const TensorType type = call.builder.type(x);
  if (type.dtype != DType::f32 && type.dtype != DType::f64) x = call.cast(x, DType::f32);
  if (type.shape.size() == 1) return call.reshape(x, {1, type.shape[0]});
  if (type.shape.size() != 2) fail("features {} are not of rank 1 or 2", to_string(type.shape));
  return x;
}

ValueId floats(const OnnxCall& call, const std::vector<double>& list, Shape shape) {
  return call.constant(Tensor::of<float>(DType::f32, std::move(shape), {list.begin(), list.end()}));
}

std::string post_transform_of(const OnnxCall& call) {
  const std::string kind = call.attrs.get_string("post_transform", "NONE");
  if (kind != "NONE" && kind != "LOGISTIC" && kind != "SOFTMAX") fail("post_transform {} is not supported", kind);
  return kind;
}

ValueId post_transform(const OnnxCall& call, ValueId scores) {
  const std::string kind = post_transform_of(call);
  if (kind == "NONE") return scores;
  if (kind == "LOGISTIC") return call.emit1("Sigmoid", {scores});
  return call.emit1("Softmax", {scores}, make_attrs({{"axis", i64{1}}}));
}

ClassLabels::ClassLabels(const OnnxCall& call, const std::string& numbers)
    : numbers_(call.attrs.get_ints(numbers, {})), count_(std::ssize(numbers_)) {
  if (numbers_.empty()) count_ = std::ssize(split_words(call.attrs.get_string("classlabels_strings", "")));
  if (count_ < 2) fail("{} class labels are not two or more", count_);
  if (numbers_.empty() && call.wants(0)) fail("the labels are strings, which are not supported; the scores would be");
}

ValueId ClassLabels::at_index(const OnnxCall& call, ValueId index) const {
  if (numbers_.empty()) return kNone;
  if (numbers_ == range(count_)) return index;
  return rows_of(call, call.constant(Tensor::of<i64>(DType::i64, {count_}, numbers_)), index);
}

ValueId ClassLabels::of_largest(const OnnxCall& call, ValueId scores) const {
  if (numbers_.empty()) return kNone;
  return at_index(call, call.emit1("ArgMax", {scores}, make_attrs({{"axis", i64{1}}, {"keepdims", i64{0}}})));
}

namespace {

// A list that has an entry for each of `count`, or one for all.
ValueId for_each(const OnnxCall& call, const char* key, i64 count) {
  const std::vector<double> list = call.attrs.get_floats(key, {});
  const i64 size = std::ssize(list);
  if (size != 1 && size != count) fail("{} has {} entries for {} features", key, size, count);
  return floats(call, list, {size});
}

ValueId rows_f32(const OnnxCall& call) { return call.cast(feature_rows(call, call.need(0, "X")), DType::f32); }

// x [rows, features] times the coefficients [count, features], plus the intercepts.
ValueId linear(const OnnxCall& call, ValueId x, i64 count) {
  const i64 features = call.builder.shape(x)[1];
  const std::vector<double> coefficients = call.attrs.get_floats("coefficients", {});
  const std::vector<double> intercepts = call.attrs.get_floats("intercepts", {});
  if (features < 1 || std::ssize(coefficients) % features != 0 || std::ssize(coefficients) / features != count)
    fail("{} coefficients for {} outputs of {} features", coefficients.size(), count, features);
  const ValueId weights = call.transpose(floats(call, coefficients, {count, features}), {1, 0});
  const ValueId y = call.emit1("MatMul", {x, weights});
  if (intercepts.empty()) return y;
  if (std::ssize(intercepts) != count) fail("{} intercepts for {} outputs", intercepts.size(), count);
  return call.emit1("Add", {y, floats(call, intercepts, {count})});
}

Outputs linear_regressor(OnnxCall& call) {
  const i64 targets = small_ints({call.attrs.get_int("targets", 1)}, "targets", 1, 1)[0];
  if (targets == 1 && post_transform_of(call) != "NONE") fail("a post_transform of one target is not supported");
  return {post_transform(call, linear(call, rows_f32(call), targets))};
}

Outputs linear_classifier(OnnxCall& call) {
  const ClassLabels labels(call, "classlabels_ints");
  const ValueId scores = linear(call, rows_f32(call), labels.count());
  return {labels.of_largest(call, scores), post_transform(call, scores)};
}

// (x - offset) * scale
Outputs scaler(OnnxCall& call) {
  const ValueId x = call.cast(call.need(0, "X"), DType::f32);
  const i64 features = call.builder.rank(x) == 0 ? 1 : call.builder.shape(x).back();
  return call.emit("Mul",
                   {call.emit1("Sub", {x, for_each(call, "offset", features)}), for_each(call, "scale", features)});
}

// Each row by its largest number, the sum of its magnitudes, or its length; a row of zeros stays.
Outputs normalizer(OnnxCall& call) {
  const bool is_list = call.rank(0) == 1;
  const ValueId x = rows_f32(call);
  const std::string norm = call.attrs.get_string("norm", "MAX");
  const char* op = norm == "MAX" ? "ReduceMax" : norm == "L1" ? "ReduceL1" : norm == "L2" ? "ReduceL2" : nullptr;
  if (op == nullptr) fail("norm {} is not known", norm);
  const ValueId by = call.emit1(op, {x}, make_attrs({{"axes", std::vector<i64>{1}}, {"keepdims", i64{1}}}));
  const ValueId zero = call.scalar(DType::f32, 0), one = call.scalar(DType::f32, 1);
  const ValueId divisor = call.emit1("Where", {call.emit1("Equal", {by, zero}), one, by});
  const ValueId y = call.emit1("Div", {x, divisor});
  return {is_list ? call.reshape(y, call.shape(0)) : y};
}

Outputs binarizer(OnnxCall& call) {
  const ValueId x = call.need(0, "X");
  const DType dtype = call.builder.type(x).dtype;
  if (!is_float(dtype)) fail("{} are not real numbers", name(dtype));
  return {call.cast(call.emit1("Greater", {x, call.scalar(dtype, call.attrs.get_float("threshold", 0))}), dtype)};
}

// Numbers that are missing, NaN or another given one, are replaced.
Outputs imputer(OnnxCall& call) {
  const ValueId x = call.need(0, "X");
  const DType dtype = call.builder.type(x).dtype;
  if (dtype != DType::f32) fail("{} are not supported, only f32", name(dtype));
  const double missing = call.attrs.get_float("replaced_value_float", 0);
  const ValueId is_missing =
      std::isnan(missing) ? call.emit1("IsNaN", {x}) : call.emit1("Equal", {x, call.scalar(dtype, missing)});
  const i64 features = call.builder.rank(x) == 0 ? 1 : call.builder.shape(x).back();
  return call.emit("Where", {is_missing, for_each(call, "imputed_value_floats", features), x});
}

Outputs feature_vectorizer(OnnxCall& call) {
  std::vector<ValueId> parts;
  for (size_t i = 0; i < call.in.size(); i++)
    parts.push_back(call.cast(feature_rows(call, call.need(i, "an input")), DType::f32));
  const std::vector<i64> sizes = call.attrs.get_ints("inputdimensions", {});
  for (size_t i = 0; i < sizes.size(); i++)
    if (i >= parts.size() || call.builder.shape(parts[i])[1] != sizes[i])
      fail("inputdimensions are not those of the inputs");
  if (parts.size() == 1) return {parts[0]};
  return call.emit("Concat", parts, make_attrs({{"axis", i64{1}}}));
}

Outputs array_feature_extractor(OnnxCall& call) {
  const ValueId x = call.need(0, "X"), places = call.need(1, "Y");
  const i64 rank = call.rank(0), count = elements(call.builder.shape(places));
  if (rank == 0) fail("a single number has no features");
  const ValueId y = call.emit1("Gather", {x, call.reshape(places, {count})}, make_attrs({{"axis", rank - 1}}));
  return {rank == 1 ? call.reshape(y, {1, count}) : y};
}

// x [...] and the known categories -> whether each is the one, [..., categories]. NaN is one like others.
ValueId matches(const OnnxCall& call, ValueId x, ValueId categories) {
  Shape one = call.builder.shape(x);
  one.push_back(1);
  x = call.reshape(x, one);
  const ValueId equal = call.emit1("Equal", {x, categories});
  if (!is_float(call.builder.type(x).dtype)) return equal;
  return call.emit1("Or", {equal, call.emit1("And", {call.emit1("IsNaN", {x}), call.emit1("IsNaN", {categories})})});
}

Outputs one_hot_encoder(OnnxCall& call) {
  const std::vector<i64> categories = call.attrs.get_ints("cats_int64s", {});
  if (categories.empty()) fail("categories that are strings are not supported");
  if (call.attrs.get_int("zeros", 1) == 0) fail("zeros=0 would have to stop at an unknown category");
  const ValueId x = call.cast(call.need(0, "X"), DType::i64);
  const i64 count = std::ssize(categories);
  return {call.cast(matches(call, x, call.constant(Tensor::of<i64>(DType::i64, {count}, categories))), DType::f32)};
}

// The keys or the values of a LabelEncoder.
ValueId label_list(const OnnxCall& call, const std::string& kind) {
  const std::vector<i64> numbers = call.attrs.get_ints(kind + "_int64s", {});
  if (!numbers.empty()) return call.constant(Tensor::of<i64>(DType::i64, {std::ssize(numbers)}, numbers));
  const std::vector<double> reals = call.attrs.get_floats(kind + "_floats", {});
  if (reals.empty()) fail("{} that are strings are not supported", kind);
  return floats(call, reals, {std::ssize(reals)});
}

Outputs label_encoder(OnnxCall& call) {
  const ValueId x = call.need(0, "X"), keys = label_list(call, "keys"), values = label_list(call, "values");
  if (call.builder.shape(keys) != call.builder.shape(values)) fail("keys and values are not of one number");
  if (call.builder.type(keys).dtype != call.builder.type(x).dtype) fail("the keys are not of the input's type");
  const ValueId hits = call.cast(matches(call, x, keys), DType::i32);
  const Attrs last = make_attrs({{"axis", call.rank(0)}, {"keepdims", i64{0}}});
  const ValueId index = call.emit1("ArgMax", {hits}, last);
  const ValueId found =
      call.emit1("ReduceMax", {hits}, make_attrs({{"axes", std::vector<i64>{call.rank(0)}}, {"keepdims", i64{0}}}));
  const DType dtype = call.builder.type(values).dtype;
  Tensor otherwise(TensorType{dtype, {}});
  if (is_float(dtype))
    otherwise.set(0, call.attrs.get_float("default_float", -0.0));
  else
    otherwise.set_int(0, call.attrs.get_int("default_int64", -1));
  const ValueId is_known = call.emit1("Greater", {found, call.scalar(DType::i32, 0)});
  return call.emit("Where", {is_known, rows_of(call, values, index), call.constant(std::move(otherwise))});
}

Outputs zip_map(OnnxCall& call) { return {call.need(0, "X")}; }

constexpr OnnxOp kOps[] = {
    {"ai.onnx.ml.LinearClassifier", linear_classifier,
     "classlabels_ints classlabels_strings coefficients intercepts multi_class post_transform", kClassLimits},
    {"ai.onnx.ml.LinearRegressor", linear_regressor, "coefficients intercepts post_transform targets", kPostLimits},
    {"ai.onnx.ml.Scaler", scaler, "offset scale"},
    {"ai.onnx.ml.Normalizer", normalizer, "norm"},
    {"ai.onnx.ml.Binarizer", binarizer, "threshold"},
    {"ai.onnx.ml.Imputer", imputer, "imputed_value_floats replaced_value_float", "f32"},
    {"ai.onnx.ml.FeatureVectorizer", feature_vectorizer, "inputdimensions"},
    {"ai.onnx.ml.ArrayFeatureExtractor", array_feature_extractor, ""},
    {"ai.onnx.ml.OneHotEncoder", one_hot_encoder, "cats_int64s zeros", "categories that are numbers"},
    {"ai.onnx.ml.LabelEncoder", label_encoder,
     "default_float default_int64 keys_floats keys_int64s values_floats values_int64s", "numbers to numbers"},
    {"ai.onnx.ml.ZipMap", zip_map, "classlabels_int64s classlabels_strings", "no maps: the scores pass as they are"},
};

}  // namespace

std::span<const OnnxOp> ml_imports() { return kOps; }

}  // namespace mcc::frontend
