// The text form of loop programs: what it looks like, that it loses nothing, and what its errors say.
#include <gtest/gtest.h>

#include "loop/build.h"
#include "loop/loop_ops.h"

namespace mcc::loop {
namespace {

std::string error_of(std::string_view text) {
  try {
    parse_func(text);
    return "no error";
  } catch (const Error& e) {
    return e.what();
  }
}

constexpr std::string_view kEverything =
    R"(func everything(input x: f32[4,8], constant w: f32[1,2,4] pack [2,7] 0*4 1 1*4, output y: f32[4,8], output s: i32[]) {
  temp t: f16[4]
  reg r: bool[2]
  parallel m in 4 {
    if m % 2 == 0 && !(m < 1) {
      t[m] = cast.f16(x[m, 0] + -1.5) @a
    } else {
      t[m] max= -inf:f16
    }
    for k.0 in 2 prefetch 4 w[m*8 + k.0*4 + 100] prefetch 1 x[k.0] {
      unroll u in 2 {
        r[u] or= is_nan(x[m, 3 - k.0]) || false @b
      }
      vectorize v in 4 {
        y[m, k.0*4 + v] += select(0 < v, x[m, (k.0 + 1)*2] * 0.1, neg(1e-10)) @c
      }
    }
  }
  for m#1 in 0 {
    s[] xor= 3:i32 // (2:i32 // -5:i32)
  }
}
)";

TEST(LoopText, PrintsWhatItParsed) {
  const Func func = parse_func(kEverything);
  EXPECT_EQ(verify(func), "");
  EXPECT_EQ(parse_func(print(func)), func);
  EXPECT_EQ(func.vars, (std::vector<std::string>{"m", "k.0", "u", "v", "m"}));
}

TEST(LoopText, KeepsVariableOrderAndQuotedNames) {
  Func func = parse_func("func f(output y: f32[2,3]) { for a in 2 { for b in 3 { y[a, b] = 0.0 @z } } }");
  std::swap(func.vars[0], func.vars[1]);
  auto& outer = std::get<Loop>(func.body[0].node);
  auto& inner = std::get<Loop>(outer.body[0].node);
  std::swap(outer.var, inner.var);
  std::swap(std::get<Store>(inner.body[0].node).index[0].i, std::get<Store>(inner.body[0].node).index[1].i);
  func.name = "conv 3x3 -> 64";
  EXPECT_EQ(parse_func(print(func)), func);
}

TEST(LoopText, ErrorsNameThePlace) {
  EXPECT_EQ(error_of("func f(input x: f31[2]) {}"), "1:17: unknown type 'f31'");
  EXPECT_EQ(error_of("func f(output y: f32[2]) {\n  for i in 2 {\n    y[j] = 0.0\n  }\n}"),
            "3:7: unknown variable 'j'");
  EXPECT_EQ(error_of("func f(output y: f32[2]) {\n  y[0, 1] = z[0]\n}"), "2:13: unknown buffer 'z'");
  EXPECT_EQ(error_of("func f(output y: f32[2]) { y[0] = 1.0 + 1 }"), "1:39: add: the types f32 and i64 differ");
  EXPECT_EQ(error_of("func f(output y: f32[2]) { y[0] = gelu(1.0) }"), "1:35: unknown operation 'gelu'");
  EXPECT_EQ(error_of("func f(output y: f32[2]) { for i in 2 {"),
            "1:40: expected a statement, found the end of the text");
  EXPECT_EQ(error_of("func f(output y: i8[2]) { y[0] = 300:i8 }"), "1:34: 300 does not fit in i8");
  EXPECT_EQ(error_of("func f(output y: f32[2], temp y: f32[2]) { }"), "1:31: buffer 'y' is declared twice");
  EXPECT_EQ(error_of("func f(constant w: f32[2] pack [2] 2999999999999999) {}"), "1:36: 2999999999999999 is no axis");
  EXPECT_EQ(error_of("func f(output vars: f32[2]) { }"), "1:15: 'vars' cannot be the name of a buffer");
  EXPECT_EQ(error_of("func f(output else: f32[2]) { }"), "1:15: 'else' cannot be the name of a buffer");
  EXPECT_EQ(error_of("func f(output y: f32[2]) { y[0] ~ 1.0 }"),
            "1:33: expected '=', '+=' or another assignment, found '~'");
}

struct BrokenRule {
  std::string_view text, says;
};

TEST(LoopVerify, NamesTheBrokenRule) {
  const BrokenRule rules[] = {
      {"func f(output y: f32[4]) { for i in 5 { y[i] = 0.0 @z } }", "y: index i runs over 0..4, dimension 0 is 4"},
      {"func f(input x: f32[4], output y: f32[4]) { for i in 4 { y[i] = x[i - 1] @z } }",
       "x: index i - 1 runs over -1..2, dimension 0 is 4"},
      {"func f(input x: f32[4]) { for i in 4 { x[i] = 0.0 @z } }", "z: writes to the input x"},
      {"func f(output y: f32[4]) { for i in 4 { y[i] = 0.0:f16 @z } }", "z: the value is f16, y holds f32"},
      {"func f(output y: f32[4,4]) { for i in 4 { for i#1 in 4 { y[i, i#1] = 0.0 @z } } }",
       "loop i: inside a loop of the same name"},
      {"func f(output y: f32[4]) { reg r: f32[4] for i in 4 { r[i] = 0.0 @z } }",
       "reg r: its index depends on i, which is neither unrolled nor vectorized"},
      {"func f(output y: bool[1]) { y[0] += true @z }", "z: += is not defined on bool"},
      {"func f(output y: f32[1]) { y[0] = floormod(1.5, 1.0) @z }", "1.5 % 1.0: not defined on f32"},
      {"func f(output y: f32[4]) { for i in 4 { y[i] = 0.0 @z } y[i] = 1.0 }", "variable i: used outside its loop"},
      {"func f(input x: f32[4] pack [4] 0) { }", "buffer x: only constants can be packed"},
      {"func f(output y: f32[4]) { parallel i in 4 prefetch 1 y[i] { y[i] = 0.0 } }",
       "loop i: only serial loops fetch ahead"},
      {"func f(output y: f32[4]) { temp t: f32[4] for i in 4 prefetch 1 t[i] { y[i] = 0.0 } }",
       "loop i: fetches t ahead, which is no parameter"},
      {"func f(output y: f32[4]) { for i in 4 prefetch 0 y[i] { y[i] = 0.0 } }", "loop i: fetches 0 lines of y ahead"},
      {"func f(output y: f32[4]) { for i in 4 prefetch 1 y[i*i] { y[i] = 0.0 } }", "loop i: i*i is not affine"},
  };
  for (const BrokenRule& rule : rules) EXPECT_EQ(verify(parse_func(rule.text)), rule.says) << rule.text;
}

TEST(LoopText, SimplifyingKeepsWhatIsFetchedAhead) {
  const Func func = parse_func(
      "func f(input u: f32[4], input x: f32[4], output y: f32[4]) {"
      "  for one in 1 { for i in 4 prefetch 2 x[one + i*16 + 8 + i] { y[i] = x[i] @z } } }");
  EXPECT_EQ(print(simplify(func)),
            "func f(input u: f32[4], input x: f32[4], output y: f32[4]) {\n"
            "  for i in 4 prefetch 2 x[i*17 + 8] {\n    y[i] = x[i] @z\n  }\n}\n");
}

TEST(LoopVerify, AcceptsGuardedIndices) {
  EXPECT_EQ(verify(parse_func("func f(input x: f32[4], output y: f32[4]) {"
                              "  for i in 4 { y[i] = select(0 < i, x[i - 1], 0.0) @z } }")),
            "");
}

}  // namespace
}  // namespace mcc::loop
