// Whole programs: printing loses nothing; simplify() and collapse() compute what the program computed, on random
// programs in algorithm form.
#include <gtest/gtest.h>

#include "loop/loop_ops.h"
#include "property/loop_random.h"

namespace mcc::loop {
namespace {

std::vector<double> run(const Func& func, const std::vector<Tensor>& like) {
  std::vector<Tensor> tensors;
  std::vector<Tensor*> pointers;
  for (const Tensor& tensor : like) tensors.push_back(tensor.clone());
  for (Tensor& tensor : tensors) pointers.push_back(&tensor);
  interpret(func, pointers);
  const std::vector<int> ids = params(func);
  std::vector<double> out;
  for (size_t p = 0; p < ids.size(); p++) {
    if (func.buffers[static_cast<size_t>(ids[p])].scope == Scope::output) out = to_doubles(tensors[p]);
  }
  return out;
}

TEST(LoopFuncProperty, PrintsAndParsesBack) {
  for (u64 seed = 0; seed < 500; seed++) {
    Rng rng(seed);
    const Func func = testing::random_func(rng);
    ASSERT_EQ(verify(func), "") << "seed " << seed << "\n" << print(func);
    ASSERT_EQ(parse_func(print(func)), func) << "seed " << seed << "\n" << print(func);
  }
}

TEST(LoopFuncProperty, SimplifyAndCollapseComputeTheSame) {
  for (u64 seed = 0; seed < 1000; seed++) {
    Rng rng(seed);
    const Func func = testing::random_func(rng);
    const std::vector<Tensor> tensors = testing::random_params(func, rng);
    const std::vector<double> want = run(func, tensors);
    for (const Func& changed : {simplify(func), collapse(func)}) {
      ASSERT_EQ(verify(changed), "") << "seed " << seed << "\n" << print(func) << print(changed);
      ASSERT_EQ(parse_func(print(changed)), changed) << "seed " << seed;
      ASSERT_EQ(run(changed, tensors), want) << "seed " << seed << "\n" << print(func) << print(changed);
    }
    ASSERT_EQ(collapse(collapse(func)), collapse(func)) << "seed " << seed << "\n" << print(func);
  }
}

}  // namespace
}  // namespace mcc::loop
