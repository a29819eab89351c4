// For every operator instance: the lowered loop program obeys the rules of loop.h, and interpreting it gives what the
// reference gives. And every operator that can be lowered has an instance.
#include <gtest/gtest.h>

#include <set>

#include "loop/loop_ops.h"
#include "ops_instances.h"

namespace mcc::testing {

namespace {

void expect_close(const OpInstance& instance, const Tensor& got, const Tensor& want) {
  Comparison difference = compare(got, want);
  EXPECT_EQ(difference.mismatched_special, 0);
  double error = is_float(want.type.dtype) ? difference.relative() : difference.max_abs_error;
  EXPECT_LE(error, allowed_error(instance, want.type.dtype));
}

void check_instance(const OpInstance& instance, u64 seed) {
  OpCase made = make_case(instance, seed);
  std::vector<TensorType> out_types = infer_types(made.node, made.in_types);
  std::vector<Tensor> want = evaluate(made.node, made.in_pointers(), made.in_types);
  const OpDef* op = find_op(instance.op);
  if (!op->lower) return;
  loop::Func func = op->lower(made.node, made.in_types, out_types);
  ASSERT_EQ(loop::verify(func), "") << loop::print(func);
  std::vector<Tensor> got;
  for (const TensorType& type : out_types) got.emplace_back(type);
  std::vector<Tensor*> params;
  for (Tensor& tensor : made.in) params.push_back(&tensor);
  for (Tensor& tensor : got) params.push_back(&tensor);
  ASSERT_EQ(params.size(), loop::params(func).size());
  loop::interpret(func, params);
  for (size_t i = 0; i < want.size(); i++) expect_close(instance, got[i], want[i]);
  if (::testing::Test::HasFailure()) ADD_FAILURE() << loop::print(func);
}

class Lowering : public ::testing::TestWithParam<OpInstance> {};

TEST_P(Lowering, EqualsReference) {
  for (u64 seed : {1, 2, 3}) {
    SCOPED_TRACE(describe(GetParam()) + " seed " + std::to_string(seed));
    try {
      check_instance(GetParam(), seed);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    if (HasFailure()) return;
  }
}

std::string test_name(const ::testing::TestParamInfo<OpInstance>& info) {
  return info.param.op + "_" + std::to_string(info.index);
}

INSTANTIATE_TEST_SUITE_P(Ops, Lowering, ::testing::ValuesIn(op_instances()), test_name);

TEST(OpsTable, EveryOperatorHasAnInstance) {
  std::set<std::string> seen;
  for (const OpInstance& instance : op_instances()) seen.insert(instance.op);
  for (const OpDef* op : all_ops()) EXPECT_TRUE(seen.count(std::string(op->name))) << op->name;
}

}  // namespace

}  // namespace mcc::testing
