// Everything that can be done with a loop program as a value: print, parse, verify, interpret, analyse, simplify.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "loop/loop.h"

namespace mcc::loop {

// --- print.cc, parse.cc ---------------------------------------------------------------------------------------------
// Text form, which parses back to an equal Func:
//   func conv(input x: f32[1,8,8,4], constant w: f32[2,9,4,8] pack [16,3,3,4] 0*8 1 2 3 0, output y: f32[1,8,8,16]) {
//     local p: f32[3,10,4]
//     reg acc: f32[6,16]
//     parallel oy in 8 { for ox.0 in 2 { unroll ox.1 in 4 { vectorize c in 16 { acc[ox.1, c] = 0.0 @conv.init } } } }
//   }
// Accumulating stores print as +=, *=, min=, max=, and=, or=, xor=. Float constants carry a '.', 'e', or inf/nan; a
// constant whose type is not f32, i64 or bool is written with it: 3:i32, 0.5:f64. Calls print as name(args): exp(x),
// select(c, a, b), cast.f16(x).
// A loop that fetches 4 lines of w ahead: for k in 64 prefetch 4 w[k*64 + 2048] { ... }
// `//` is floordiv and `%` floormod; mod(a, b) truncates. The second variable of a name prints as name#1. A name of a
// func that is not an identifier is quoted; buffers, loops and blocks have identifiers: a letter or _, then letters,
// digits, _ and dots.
std::string print(const Func& func);
std::string print(const Func& func, const Expr& expr);
Func parse_func(std::string_view text);  // throws Error with line and column

// --- verify.cc -------------------------------------------------------------------------------------------------------
// "" or the first thing that breaks the rules of loop.h: types, ranks, unknown variables, indices provably out of
// bounds, stores to inputs, reg indices that do not become constants.
std::string verify(const Func& func);

// --- interp.cc ------------------------------------------------------------------------------------------------------
// Runs the program slowly and exactly as loop.h says: one tensor for each parameter, in order (packed constants in
// packed form). Throws InternalError on an out-of-bounds access. f16/bf16 are computed in float and rounded at each
// operation.
void interpret(const Func& func, std::span<Tensor* const> params);

// --- affine.cc ------------------------------------------------------------------------------------------------------
// An integer expression as constant + sum of coefficient * variable. Composing, subtracting and bounding these is a few
// additions: schedules compute every index in this form.
struct Affine {
  i64 constant = 0;
  std::vector<std::pair<int, i64>> terms;  // (variable, coefficient), ascending variables, no zero coefficients
  bool operator==(const Affine&) const = default;
  bool is_constant() const { return terms.empty(); }
  i64 coefficient(int var) const;  // 0 where it does not occur
};
Affine affine_var(int var, i64 coefficient = 1);
void add_scaled(Affine& to, const Affine& a, i64 scale);  // to += a * scale
Affine minus(Affine a, const Affine& b);
std::optional<Affine> as_affine(const Expr& expr);  // nothing when it is not one as written
std::optional<Affine> to_affine(const Expr& expr);  // or after simplification
Expr to_expr(const Affine& affine);
// Inclusive bounds of an integer expression, given inclusive bounds of its variables (loads of integers: their type's
// range).
struct Range {
  i64 min = 0, max = 0;
};
// When variable v runs over 0 .. extent(v)-1.
Range range_of(const Affine& affine, const std::function<i64(int var)>& extent);
std::optional<Range> bounds(const Expr& expr, const std::function<std::optional<Range>(int var)>& of_var);

// --- simplify.cc, simplify_func.cc ----------------------------------------------------------------------------------
// Equal value for every assignment of the variables within `of_var` (without it, or where it has none: within +-2^40).
// Canonical for integer sums (sorted), so equal affine expressions become equal Exprs; comparisons of integers become
// `<`, `==` or `!=` with the smallest numbers. Does not change float rounding, NaN or signed-zero behaviour.
Expr simplify(const Expr& expr, const std::function<std::optional<Range>(int var)>& of_var = nullptr);
// Every expression; loops of extent 1 vanish, of extent 0 too; Ifs with known conditions are resolved; then
// drop_unused.
Func simplify(const Func& func);
// Without unused buffers (not parameters) and variables; variables in the order in which their loops first appear.
Func drop_unused(Func func);

// --- collapse.cc ----------------------------------------------------------------------------------------------------
// For algorithm form: without loops and dimensions of extent 1, and with neighbouring dimensions of buffers (parameters
// too: same bytes, other shapes) merged, together with their loops, wherever they are always indexed together.
Func collapse(const Func& func);

// --- walk.cc --------------------------------------------------------------------------------------------------------
Expr substitute(const Expr& expr, const std::map<int, Expr>& vars);
void for_each_store(const Func& func,
                    const std::function<void(const Store&, std::span<const Loop* const> loops)>& visit);
void for_each_load(const Expr& expr, const std::function<void(const Expr& load)>& visit);
Expr map_loads(const Expr& expr, const std::function<Expr(const Expr& load)>& change);
bool uses_var(const Expr& expr, int var);
bool loads_buffer(const Expr& expr, int buffer);
// Float adds, multiplies, ... of one run (and those of integers narrower than i64): a multiply-add counts two, a
// transcendental one.
i64 flops(const Func& func);

}  // namespace mcc::loop
