// Programs in algorithm form as op lowerings write them, and the one check that all schedule tests end in: the
// scheduled program computes, bit for bit, what the algorithm computes. Data are small integers, so that reassociated
// sums stay exact; only Winograd's larger tiles round.
#pragma once
#include <gtest/gtest.h>

#include "base/rng.h"
#include "loop/build.h"
#include "loop/loop_ops.h"
#include "schedule/space.h"

namespace mcc::samples {

using namespace mcc::loop;

struct ConvShape {
  i64 height = 7, width = 9, in = 5, out = 11, kernel = 3, stride = 1, pad = 1;
};

// NHWC, weights OIHW; pad, conv, bias, relu, optionally a residual input added.
inline Func conv(const ConvShape& s, bool epilogue = true, bool residual = false) {
  const i64 oh = (s.height + 2 * s.pad - s.kernel) / s.stride + 1, ow = (s.width + 2 * s.pad - s.kernel) / s.stride + 1;
  FuncBuilder b("conv");
  int x = b.input("x", DType::f32, {s.height, s.width, s.in});
  const int w = b.constant_input("w", DType::f32, {s.out, s.in, s.kernel, s.kernel});
  const int bias = epilogue ? b.constant_input("b", DType::f32, {s.out}) : -1;
  const int r = residual ? b.input("r", DType::f32, {oh, ow, s.out}) : -1;
  const int y = b.output("y", DType::f32, {oh, ow, s.out});
  if (s.pad > 0) {
    const int p = b.temp("p", DType::f32, {s.height + 2 * s.pad, s.width + 2 * s.pad, s.in});
    b.axes({"py", "px", "pc"});
    b.block("pad", {s.height + 2 * s.pad, s.width + 2 * s.pad, s.in}, p, [&](const Vars& v) {
      const Expr iy = v[0] - s.pad, ix = v[1] - s.pad;
      const Expr inside = (const_int(s.pad - 1) < v[0]) && (v[0] < const_int(s.height + s.pad)) &&
                          (const_int(s.pad - 1) < v[1]) && (v[1] < const_int(s.width + s.pad));
      return select(inside, b.load(x, {iy, ix, v[2]}), const_float(0));
    });
    x = p;
  }
  const int c = epilogue ? b.temp("c", DType::f32, {oh, ow, s.out}) : y;
  b.axes({"oy", "ox", "oc", "ky", "kx", "ic"});
  b.reduce("conv", {oh, ow, s.out}, {s.kernel, s.kernel, s.in}, c, StoreOp::add, const_float(0),
           [&](const Vars& v, const Vars& k) {
             return b.load(x, {v[0] * s.stride + k[0], v[1] * s.stride + k[1], k[2]}) *
                    b.load(w, {v[2], k[2], k[0], k[1]});
           });
  if (!epilogue) return b.take();
  const int d = b.temp("d", DType::f32, {oh, ow, s.out});
  b.axes({"by", "bx", "bc"});
  b.block("bias", {oh, ow, s.out}, d, [&](const Vars& v) { return b.load(c, v) + b.load(bias, {v[2]}); });
  b.axes({"ry", "rx", "rc"});
  b.block("relu", {oh, ow, s.out}, y, [&](const Vars& v) {
    const Expr sum = residual ? b.load(d, v) + b.load(r, v) : b.load(d, v);
    return max(sum, const_float(0));
  });
  return b.take();
}

// With `product` a 1x1 convolution to s.out channels reads the result, whose pixels lie in one dimension.
inline Func depthwise(const ConvShape& s, bool product = false) {
  const i64 oh = (s.height + 2 * s.pad - s.kernel) / s.stride + 1, ow = (s.width + 2 * s.pad - s.kernel) / s.stride + 1;
  FuncBuilder b("depthwise");
  const int x = b.input("x", DType::f32, {s.height, s.width, s.in}),
            w = b.constant_input("w", DType::f32, {s.in, s.kernel, s.kernel});
  const int u = product ? b.constant_input("u", DType::f32, {s.out, s.in}) : -1;
  const int out = b.output("y", DType::f32, product ? Shape{oh * ow, s.out} : Shape{oh, ow, s.in});
  const int y = product ? b.temp("d", DType::f32, {oh * ow, s.in}) : out;
  const int p = b.temp("p", DType::f32, {s.height + 2 * s.pad, s.width + 2 * s.pad, s.in}),
            c = b.temp("c", DType::f32, {oh, ow, s.in});
  b.block("pad", {s.height + 2 * s.pad, s.width + 2 * s.pad, s.in}, p, [&](const Vars& v) {
    const Expr inside = (const_int(s.pad - 1) < v[0]) && (v[0] < const_int(s.height + s.pad)) &&
                        (const_int(s.pad - 1) < v[1]) && (v[1] < const_int(s.width + s.pad));
    return select(inside, b.load(x, {v[0] - s.pad, v[1] - s.pad, v[2]}), const_float(0));
  });
  b.reduce("conv", {oh, ow, s.in}, {s.kernel, s.kernel}, c, StoreOp::add, const_float(0),
           [&](const Vars& v, const Vars& k) {
             return b.load(p, {v[0] * s.stride + k[0], v[1] * s.stride + k[1], v[2]}) * b.load(w, {v[2], k[0], k[1]});
           });
  const auto relu = [&](const Vars& v) { return max(b.load(c, v), const_float(0)); };
  if (!product) {
    b.block("relu", {oh, ow, s.in}, y, relu);
    return b.take();
  }
  b.block_at("relu", {oh, ow, s.in}, y, [&](const Vars& v) { return std::vector<Expr>{v[0] * ow + v[1], v[2]}; }, relu);
  b.reduce("product", {oh * ow, s.out}, {s.in}, out, StoreOp::add, const_float(0),
           [&](const Vars& v, const Vars& k) { return b.load(y, {v[0], k[0]}) * b.load(u, {v[1], k[0]}); });
  return b.take();
}

// y = a b (+ bias, relu); b constant or not, transposed ([n, k]) or not; batch 0: none.
inline Func matmul(i64 m, i64 n, i64 k, bool constant, bool transposed, bool epilogue, i64 batch = 0) {
  FuncBuilder f("matmul");
  Shape as{m, k}, bs = transposed ? Shape{n, k} : Shape{k, n}, ys{m, n};
  if (batch > 0) {
    as.insert(as.begin(), batch), ys.insert(ys.begin(), batch);
    if (!constant) bs.insert(bs.begin(), batch);
  }
  const int a = f.input("a", DType::f32, as),
            w = constant ? f.constant_input("w", DType::f32, bs) : f.input("w", DType::f32, bs);
  const int bias = epilogue ? f.constant_input("bias", DType::f32, {n}) : -1;
  const int y = f.output("y", DType::f32, ys), c = epilogue ? f.temp("c", DType::f32, ys) : y;
  f.reduce("matmul", ys, {k}, c, StoreOp::add, const_float(0), [&](const Vars& v, const Vars& r) {
    const Expr row = v[v.size() - 2], column = v.back();
    std::vector<Expr> ai{row, r[0]},
        bi = transposed ? std::vector<Expr>{column, r[0]} : std::vector<Expr>{r[0], column};
    if (batch > 0) {
      ai.insert(ai.begin(), v[0]);
      if (!constant) bi.insert(bi.begin(), v[0]);
    }
    return f.load(a, ai) * f.load(w, bi);
  });
  if (epilogue) {
    f.block("relu", ys, y, [&](const Vars& v) { return max(f.load(c, v) + f.load(bias, {v.back()}), const_float(0)); });
  }
  return f.take();
}

// max, sum, division by row; the exponential is replaced by a product so that numbers stay exact.
inline Func softmax_like(i64 rows, i64 columns) {
  FuncBuilder f("softmax");
  const int x = f.input("x", DType::f32, {rows, columns}), y = f.output("y", DType::f32, {rows, columns});
  const int m = f.temp("m", DType::f32, {rows}), s = f.temp("s", DType::f32, {rows});
  f.reduce("max", {rows}, {columns}, m, StoreOp::max, identity(StoreOp::max, DType::f32),
           [&](const Vars& v, const Vars& r) { return f.load(x, {v[0], r[0]}); });
  f.reduce("sum", {rows}, {columns}, s, StoreOp::add, const_float(0),
           [&](const Vars& v, const Vars& r) { return f.load(x, {v[0], r[0]}) - f.load(m, {v[0]}); });
  f.block("softmax", {rows, columns}, y,
          [&](const Vars& v) { return (f.load(x, v) - f.load(m, {v[0]})) * f.load(s, {v[0]}); });
  return f.take();
}

// Attention as it is lowered: scores, perhaps scaled and masked; distances to the largest in place of exp; their sum;
// the product with v. The division is a product, so that numbers stay exact.
struct AttentionShape {
  i64 heads = 2, rows = 20, columns = 24, depth = 5, out = 16;
  bool masked = false;
  bool by_rows = true;  // k is read along its rows
};
inline Func attention(const AttentionShape& a) {
  FuncBuilder f("attention");
  const Shape scores{a.heads, a.rows, a.columns}, rows{a.heads, a.rows}, result{a.heads, a.rows, a.out};
  const int q = f.input("q", DType::f32, {a.heads, a.rows, a.depth}),
            v = f.input("v", DType::f32, {a.columns, a.heads, a.out});
  const int k = a.by_rows ? f.input("k", DType::f32, {a.heads, a.columns, a.depth})
                          : f.input("k", DType::f32, {a.heads, a.depth, a.columns});
  const int mask = a.masked ? f.input("mask", DType::f32, {a.columns}) : -1, y = f.output("y", DType::f32, result);
  const int p = f.temp("p", DType::f32, scores), e = f.temp("e", DType::f32, scores),
            w = f.temp("w", DType::f32, result);
  const int top = f.temp("top", DType::f32, rows), sum = f.temp("sum", DType::f32, rows);
  f.reduce("qk", scores, {a.depth}, p, StoreOp::add, const_float(0), [&](const Vars& s, const Vars& r) {
    return f.load(q, {s[0], s[1], r[0]}) * (a.by_rows ? f.load(k, {s[0], s[2], r[0]}) : f.load(k, {s[0], r[0], s[2]}));
  });
  int x = p;
  if (a.masked) {
    x = f.temp("x", DType::f32, scores);
    f.block("mask", scores, x, [&](const Vars& s) { return f.load(p, s) * const_float(0.5) + f.load(mask, {s[2]}); });
  }
  f.reduce("top", rows, {a.columns}, top, StoreOp::max, identity(StoreOp::max, DType::f32),
           [&](const Vars& s, const Vars& r) { return f.load(x, {s[0], s[1], r[0]}); });
  f.block("exp", scores, e, [&](const Vars& s) { return f.load(x, s) - f.load(top, {s[0], s[1]}); });
  f.reduce("sum", rows, {a.columns}, sum, StoreOp::add, const_float(0),
           [&](const Vars& s, const Vars& r) { return f.load(e, {s[0], s[1], r[0]}); });
  f.reduce("ev", result, {a.columns}, w, StoreOp::add, const_float(0),
           [&](const Vars& s, const Vars& r) { return f.load(e, {s[0], s[1], r[0]}) * f.load(v, {r[0], s[0], s[2]}); });
  f.block("div", result, y, [&](const Vars& s) { return f.load(w, s) * f.load(sum, {s[0], s[1]}); });
  return f.take();
}

// Channels last, or first; the latter padded.
inline Func pool(const ConvShape& s, StoreOp op, bool planar = false) {
  const i64 oh = (s.height - s.kernel) / s.stride + 1, ow = (s.width - s.kernel) / s.stride + 1;
  FuncBuilder f("pool");
  if (planar) {
    const i64 height = s.height + 1, width = s.width + 1;
    const i64 rows = (height - s.kernel) / s.stride + 1, columns = (width - s.kernel) / s.stride + 1;
    const int x = f.input("x", DType::f32, {s.in, s.height, s.width}),
              y = f.output("y", DType::f32, {s.in, rows, columns});
    const int p = f.temp("p", DType::f32, {s.in, height, width});
    f.block("pad", {s.in, height, width}, p, [&](const Vars& v) {
      const Expr inside = (const_int(0) < v[1]) && (const_int(0) < v[2]);
      return select(inside, f.load(x, {v[0], v[1] - 1, v[2] - 1}), identity(op, DType::f32));
    });
    f.axes({"c", "oy", "ox", "ky", "kx"});
    f.reduce("pool", {s.in, rows, columns}, {s.kernel, s.kernel}, y, op, identity(op, DType::f32),
             [&](const Vars& v, const Vars& k) {
               return f.load(p, {v[0], v[1] * s.stride + k[0], v[2] * s.stride + k[1]});
             });
    return f.take();
  }
  const int x = f.input("x", DType::f32, {s.height, s.width, s.in}), y = f.output("y", DType::f32, {oh, ow, s.in});
  f.reduce(
      "pool", {oh, ow, s.in}, {s.kernel, s.kernel}, y, op, identity(op, DType::f32),
      [&](const Vars& v, const Vars& k) { return f.load(x, {v[0] * s.stride + k[0], v[1] * s.stride + k[1], v[2]}); });
  return f.take();
}

inline Func mean_rows(i64 rows, i64 columns) {
  FuncBuilder f("mean");
  const int x = f.input("x", DType::f32, {rows, columns}), y = f.output("y", DType::f32, {rows}),
            s = f.temp("s", DType::f32, {rows});
  f.reduce("sum", {rows}, {columns}, s, StoreOp::add, const_float(0),
           [&](const Vars& v, const Vars& r) { return f.load(x, {v[0], r[0]}); });
  f.block("scale", {rows}, y, [&](const Vars& v) { return f.load(s, v) * const_float(0.5); });
  return f.take();
}

inline Func elementwise(const Shape& shape) {
  FuncBuilder f("elementwise");
  const int a = f.input("a", DType::f32, shape), b = f.input("b", DType::f32, shape),
            y = f.output("y", DType::f32, shape);
  const int t = f.temp("t", DType::f32, shape);
  f.block("add", shape, t, [&](const Vars& v) { return f.load(a, v) + f.load(b, v); });
  f.block("relu", shape, y, [&](const Vars& v) { return max(f.load(t, v), const_float(0)); });
  return f.take();
}

inline Func transpose(i64 rows, i64 columns) {
  FuncBuilder f("transpose");
  const int x = f.input("x", DType::f32, {rows, columns}), y = f.output("y", DType::f32, {columns, rows});
  f.block("transpose", {columns, rows}, y, [&](const Vars& v) { return f.load(x, {v[1], v[0]}); });
  return f.take();
}

// NCHW convolution, grouped, no padding, with bias and a transposed result.
inline Func conv_nchw(i64 groups, i64 in, i64 out, i64 size, i64 kernel, i64 stride) {
  const i64 o = (size - kernel) / stride + 1;
  FuncBuilder f("conv_nchw");
  const int x = f.input("x", DType::f32, {groups, in, size, size});
  const int w = f.constant_input("w", DType::f32, {groups, out, in, kernel, kernel}),
            bias = f.constant_input("b", DType::f32, {groups, out});
  const int y = f.output("y", DType::f32, {o, o, groups, out}), c = f.temp("c", DType::f32, {groups, out, o, o});
  f.reduce("conv", {groups, out, o, o}, {in, kernel, kernel}, c, StoreOp::add, const_float(0),
           [&](const Vars& v, const Vars& k) {
             return f.load(x, {v[0], k[0], v[2] * stride + k[1], v[3] * stride + k[2]}) *
                    f.load(w, {v[0], v[1], k[0], k[1], k[2]});
           });
  f.block("turn", {o, o, groups, out}, y,
          [&](const Vars& v) { return f.load(c, {v[2], v[3], v[0], v[1]}) + f.load(bias, {v[2], v[3]}); });
  return f.take();
}

// A normalisation with an intermediate row that is costly to compute twice, and two results.
inline Func normalise(i64 rows, i64 columns) {
  FuncBuilder f("normalise");
  const int x = f.input("x", DType::f32, {rows, columns}), y = f.output("y", DType::f32, {rows, columns});
  const int m = f.output("m", DType::f32, {rows});
  const int s = f.temp("s", DType::f32, {rows}), e = f.temp("e", DType::f32, {rows, columns}),
            q = f.temp("q", DType::f32, {rows});
  const auto row = [&](int from) {
    return [&f, from](const Vars& v, const Vars& r) { return f.load(from, {v[0], r[0]}); };
  };
  f.reduce("sum", {rows}, {columns}, s, StoreOp::add, const_float(0), row(x));
  f.block("centre", {rows, columns}, e, [&](const Vars& v) {
    const Expr d = f.load(x, v) - f.load(s, {v[0]});
    return d * d + d * d * d - unary(ExprOp::abs, d) + unary(ExprOp::floor, d);
  });
  f.reduce("square", {rows}, {columns}, q, StoreOp::max, const_float(-1000), row(e));
  f.block("scale", {rows, columns}, y, [&](const Vars& v) { return f.load(e, v) + f.load(q, {v[0]}); });
  f.block("mean", {rows}, m, [&](const Vars& v) { return f.load(s, v) * const_float(0.5); });
  return f.take();
}

// Two blocks write parts of one result; the first part is summed over outer axes (a global pool).
inline Func pool_and_join(i64 size, i64 channels) {
  FuncBuilder f("join");
  const int x = f.input("x", DType::f32, {size, size, channels}), y = f.output("y", DType::f32, {2 * channels});
  const int s = f.temp("s", DType::f32, {channels});
  f.reduce("sum", {channels}, {size, size}, s, StoreOp::add, const_float(0),
           [&](const Vars& v, const Vars& r) { return f.load(x, {r[0], r[1], v[0]}); });
  f.block("first", {channels}, y, [&](const Vars& v) { return f.load(s, v) * const_float(0.25); });
  f.block_at(
      "second", {channels}, y, [&](const Vars& v) { return std::vector<Expr>{v[0] + channels}; },
      [&](const Vars& v) { return f.load(x, {const_int(0), const_int(0), v[0]}); });
  return f.take();
}

// A state carried over time: h = relu(w h + x[t]) and y[t] = h, as recurrent networks are lowered.
inline Func recurrence(i64 steps, i64 units) {
  FuncBuilder f("recurrence");
  const int x = f.input("x", DType::f32, {steps, units}), w = f.constant_input("w", DType::f32, {units, units});
  const int y = f.output("y", DType::f32, {steps, units});
  const int h = f.temp("h", DType::f32, {units}), g = f.temp("g", DType::f32, {units}),
            s = f.temp("s", DType::f32, {units});
  f.block("start", {units}, h, [&](const Vars&) { return const_float(0); });
  f.region("t", steps, [&](Expr t) {
    f.reduce("gate", {units}, {units}, g, StoreOp::add, const_float(0),
             [&](const Vars& v, const Vars& k) { return f.load(h, {k[0]}) * f.load(w, {v[0], k[0]}); });
    f.block("add", {units}, s, [&](const Vars& v) { return f.load(g, v) + f.load(x, {t, v[0]}); });
    f.block("update", {units}, h,
            [&](const Vars& v) { return max(min(f.load(s, v), const_float(9)), const_float(0)); });
    f.block_at(
        "out", {units}, y, [&](const Vars& v) { return std::vector<Expr>{t, v[0]}; },
        [&](const Vars& v) { return f.load(h, v); });
  });
  return f.take();
}

// Running sums along a row: each element reads the one before, so the block is left as it is. Then scaled.
inline Func running_sum(i64 rows, i64 columns) {
  FuncBuilder f("running_sum");
  const int x = f.input("x", DType::f32, {rows, columns}), y = f.output("y", DType::f32, {rows, columns});
  const int c = f.temp("c", DType::f32, {rows, columns});
  f.block("scan", {rows, columns}, c, [&](const Vars& v) {
    const Expr before = select(const_int(0) < v[1], f.load(c, {v[0], v[1] - 1}), const_float(0));
    return before + f.load(x, v);
  });
  f.block("scale", {rows, columns}, y, [&](const Vars& v) { return f.load(c, v) * const_float(2); });
  return f.take();
}

inline void fill(Tensor& t, Rng& rng) {
  for (i64 i = 0; i < t.size(); i++) t.set(i, static_cast<double>(rng.below(7) - 3));
}

// Runs both programs on the same inputs and compares every output exactly. "" or what differs.
inline std::string difference(const Func& algorithm, const Func& scheduled, u64 seed) {
  const std::vector<int> from = params(algorithm), to = params(scheduled);
  if (from.size() != to.size()) return "parameters differ";
  Rng rng(seed);
  std::vector<Tensor> want, got;
  bool rounds = false;
  for (size_t i = 0; i < from.size(); i++) {
    const Buffer &a = algorithm.buffers[static_cast<size_t>(from[i])],
                 &b = scheduled.buffers[static_cast<size_t>(to[i])];
    Tensor t({a.dtype, a.shape});
    if (a.scope != Scope::output) fill(t, rng);
    want.push_back(t.clone());
    got.push_back(b.pack.dims.empty() ? t.clone() : pack_constant(b, t));
    rounds = rounds || b.pack.winograd > 2;
  }
  const auto run = [](const Func& func, std::vector<Tensor>& tensors) {
    std::vector<Tensor*> pointers;
    for (Tensor& t : tensors) pointers.push_back(&t);
    interpret(func, pointers);
  };
  run(algorithm, want);
  run(scheduled, got);
  for (size_t i = 0; i < from.size(); i++) {
    if (algorithm.buffers[static_cast<size_t>(from[i])].scope != Scope::output) continue;
    double top = 0;
    for (i64 e = 0; e < want[i].size(); e++) top = std::max(top, std::abs(want[i].get(e)));
    for (i64 e = 0; e < want[i].size(); e++) {
      if (!(std::abs(want[i].get(e) - got[i].get(e)) <= (rounds ? 1e-4 * top : 0)))
        return fmt::format("output {} differs at {}: {} for {}", i, e, got[i].get(e), want[i].get(e));
    }
  }
  return "";
}

// apply, verify, interpret. `legal` false: the trace may be illegal, but then with a reason.
inline bool expect_same(const Func& func, const Trace& trace, u64 seed, bool legal = true) {
  const Applied applied = mcc::apply(func, trace);
  if (!applied.func) {
    EXPECT_FALSE(legal) << applied.why_not << "\n" << to_string(trace) << "\n" << print(func);
    EXPECT_FALSE(applied.why_not.empty());
    return false;
  }
  const std::string wrong = verify(*applied.func);
  EXPECT_EQ(wrong, "") << to_string(trace) << "\n" << print(*applied.func);
  const std::string differs = wrong.empty() ? difference(func, *applied.func, seed) : "";
  EXPECT_EQ(differs, "") << to_string(trace) << "\n" << print(*applied.func);
  return wrong.empty() && differs.empty();
}

inline Target avx2() {
  Target t;
  t.name = "avx2";
  t.vector_bytes = 32;
  t.vector_registers = 16;
  t.fma_per_cycle = 2;
  t.cores = 1;
  return t;
}

}  // namespace mcc::samples
