// simplify() against plain evaluation, on random expressions; and each rewrite rule on its own.
//
// Expressions mix types and operations over variables with known small ranges and loads from small buffers. A failure
// prints the seed; the expression before and after says the rest.
#include <gtest/gtest.h>

#include <cstring>

#include "base/rng.h"
#include "loop/build.h"
#include "loop/loop_ops.h"
#include "loop/scalar.h"
#include "loop/simplify_rules.h"
#include "property/loop_random.h"

namespace mcc::loop {
namespace {

using testing::Env;
using testing::evaluate_tree;
using testing::ExprMaker;

bool same(DType dtype, Scalar a, Scalar b) {
  if (!is_float(dtype)) return a.i == b.i;
  return (a.f != a.f && b.f != b.f) || std::memcmp(&a.f, &b.f, sizeof a.f) == 0;
}

TEST(LoopSimplifyProperty, EqualValueWithinBounds) {
  const Func names = testing::sample_func();
  for (u64 seed = 0; seed < 20000; seed++) {
    Rng rng(seed);
    Env env = testing::random_env(rng);
    const DType dtype = rng.pick(testing::expr_types());
    const Expr e = ExprMaker{rng, env}.make(dtype, 5);
    const Expr s = simplify(e, [&](int v) { return env.ranges[static_cast<size_t>(v)]; });
    ASSERT_EQ(s.dtype, dtype) << "seed " << seed;
    for (int trial = 0; trial < 8; trial++) {
      env.choose_vars(rng);
      ASSERT_TRUE(same(dtype, evaluate_tree(e, env), evaluate_tree(s, env)))
          << "seed " << seed << "\n  " << print(names, e) << "\n  " << print(names, s);
    }
  }
}

TEST(LoopSimplifyProperty, SimplifyingTwiceSeldomChangesAnything) {
  const Func names = testing::sample_func();
  int changed = 0;
  for (u64 seed = 0; seed < 3000; seed++) {
    Rng rng(seed);
    const Env env = testing::random_env(rng);
    const auto of_var = [&](int v) { return std::optional<Range>(env.ranges[static_cast<size_t>(v)]); };
    const Expr once = simplify(ExprMaker{rng, env}.make(DType::i64, 4), of_var);
    changed += print(names, once) != print(names, simplify(once, of_var));
  }
  EXPECT_LE(changed, 15);  // a rule's result may uncover one more step; rarely
}

TEST(LoopSimplifyProperty, EachRuleKeepsTheValue) {
  const Func names = testing::sample_func();
  for (size_t r = 0; r < rules().size(); r++) {
    const Rule& rule = rules()[r];
    int applied = 0;
    for (u64 seed = 0; seed < 3000 && applied < 200; seed++) {
      Rng rng(seed * 1000 + r);
      Env env = testing::random_env(rng);
      const DType dtype = rng.pick(rule.types == RuleTypes::ints ? testing::int_types() : testing::value_types());
      ExprMaker make{rng, env};
      std::vector<Expr> fill;
      for (size_t w = 0; w < kWildcards.size(); w++) {
        if (w < 3)
          fill.push_back(make.make(dtype, 2));
        else if (w < 6)
          fill.push_back(make.make(DType::boolean, 2));
        else
          fill.push_back(const_int(1 + rng.below(rng.below(2) == 0 ? 4 : 40), dtype));
      }
      std::vector<const Expr*> bindings;
      for (const Expr& e : fill) bindings.push_back(&e);
      if (instantiate(rule.when, bindings, dtype).i == 0) continue;
      const Expr left = testing::instantiate_plainly(rule.left, bindings, dtype);
      const Expr right = testing::instantiate_plainly(rule.right, bindings, dtype);
      applied++;
      for (int trial = 0; trial < 4; trial++) {
        env.choose_vars(rng);
        ASSERT_TRUE(same(left.dtype, evaluate_tree(left, env), evaluate_tree(right, env)))
            << rule_texts()[r].left << " -> " << rule_texts()[r].right << "\n  " << print(names, left);
      }
    }
    EXPECT_GE(applied, 20) << rule_texts()[r].left;
  }
}

}  // namespace
}  // namespace mcc::loop
