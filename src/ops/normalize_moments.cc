// Normalisations by mean and deviation: LayerNormalization, InstanceNormalization, GroupNormalization and
// MeanVarianceNormalization. They differ in which elements share their statistics, in the parameters, and in how the
// deviation is kept from zero.
//
// Two passes: "mean" sums the elements, "var" the squared distances to the mean (the one-pass difference of squares
// loses all digits when the mean is large), and an elementwise last block applies them.
#include <cmath>

#include "ops/normalize.h"

namespace mcc::ops {

using loop::ExprOp;
using loop::StoreOp;

namespace {

constexpr double kMeanVarianceGuard = 1e-9;  // MeanVarianceNormalization adds it to the deviation

bool is_mean_variance(const Node& node) { return node.op == "MeanVarianceNormalization"; }

// Which dimensions of x are averaged over. GroupNormalization splits its channels in two dimensions, [group, channel of
// the group], of which the first is kept; everything else treats dimensions whole.
struct Moments {
  std::vector<bool> reduced;
  i64 groups = 0;  // of dimension 1; 0: not split
};

Moments moments_of(const Node& node, const Shape& x) {
  i64 rank = static_cast<i64>(x.size());
  Moments m{std::vector<bool>(x.size(), true), 0};
  if (node.op == "LayerNormalization") {
    std::fill_n(m.reduced.begin(), axis_of(node, rank, -1), false);
  } else if (is_mean_variance(node)) {
    m.reduced.assign(x.size(), false);
    for (i64 axis : node.attrs.get_ints("axes", {0, 2, 3})) m.reduced[at(normalize_axis(axis, rank))] = true;
  } else {
    m.reduced[0] = false;
    if (node.op == "GroupNormalization")
      m.groups = node.attrs.get_int("num_groups");
    else
      m.reduced[at(channel_axis(node, rank))] = false;
  }
  return m;
}

// --- lowering

struct Nest {
  Moments moments;
  Shape shape, kept, reduced;  // of x; loop extents
  i64 group_size = 0;

  Nest(const Moments& m, const Shape& x) : moments(m), shape(x), group_size(m.groups > 0 ? x[1] / m.groups : 0) {
    for (size_t d = 0; d < x.size(); d++) {
      bool is_split = d == 1 && m.groups > 0;
      if (is_split) kept.push_back(m.groups);
      (m.reduced[d] ? reduced : kept).push_back(is_split ? group_size : x[d]);
    }
  }
  // The element of x at kept and reduced positions.
  Vars index(const Vars& s, const Vars& r) const {
    Vars v;
    size_t next_s = 0, next_r = 0;
    for (size_t d = 0; d < shape.size(); d++) {
      bool is_split = d == 1 && group_size > 0;
      if (is_split) {
        Expr first = s[next_s++] * group_size;
        v.push_back(first + r[next_r++]);
      } else {
        v.push_back(moments.reduced[d] ? r[next_r++] : s[next_s++]);
      }
    }
    return v;
  }
  // The kept position of an element of x.
  Vars kept_of(const Vars& v) const {
    Vars s;
    for (size_t d = 0; d < v.size(); d++) {
      if (d == 1 && group_size > 0)
        s.push_back(floordiv(v[d], group_size));
      else if (!moments.reduced[d])
        s.push_back(v[d]);
    }
    return s;
  }
};

// Builds the two sums and gives expressions of them.
struct Statistics {
  const Nest& nest;
  FuncBuilder& b;
  DType acc;
  int x, mean = -1, var = -1;

  Expr inverse_count() const { return loop::constant(acc, 1.0 / static_cast<double>(elements(nest.reduced))); }
  Expr mean_at(const Vars& kept) const { return b.load(mean, kept) * inverse_count(); }
  Expr variance_at(const Vars& kept) const { return b.load(var, kept) * inverse_count(); }
  Expr centered(const Vars& v, const Vars& kept) const { return loop::cast(acc, b.load(x, v)) - mean_at(kept); }

  void build() {
    mean = b.temp("mean", acc, nest.kept);
    b.reduce("mean", nest.kept, nest.reduced, mean, StoreOp::add, loop::constant(acc, 0),
             [&](const Vars& s, const Vars& r) { return loop::cast(acc, b.load(x, nest.index(s, r))); });
    var = b.temp("var", acc, nest.kept);
    b.reduce("var", nest.kept, nest.reduced, var, StoreOp::add, loop::constant(acc, 0),
             [&](const Vars& s, const Vars& r) {
               Expr distance = centered(nest.index(s, r), s);
               return distance * distance;
             });
  }
  Expr inverse_deviation(const Node& node, const Vars& kept) const {
    Expr one = loop::constant(acc, 1), variance = variance_at(kept);
    if (is_mean_variance(node))
      return one / (loop::unary(ExprOp::sqrt, variance) + loop::constant(acc, kMeanVarianceGuard));
    return one / loop::unary(ExprOp::sqrt, variance + loop::constant(acc, node.attrs.get_float("epsilon", 1e-5)));
  }
};

// Where scale and bias are read for an element of x.
Vars parameter_index(const Node& node, const Nest& nest, const Shape& parameter, const Vars& v) {
  if (node.op == "LayerNormalization") return broadcast_index(parameter, v);
  if (nest.group_size > 0 && parameter[0] == nest.moments.groups) return {floordiv(v[1], nest.group_size)};
  return {v[at(channel_axis(node, static_cast<i64>(v.size())))]};
}

// --- reference

struct Sums {
  std::vector<double> mean, variance;
};

// Which statistic each index of x belongs to.
struct Classes {
  Moments moments;
  Shape shape, kept;

  Classes(const Moments& m, const Shape& x) : moments(m), shape(x) {
    for (size_t d = 0; d < x.size(); d++) kept.push_back(d == 1 && m.groups > 0 ? m.groups : m.reduced[d] ? 1 : x[d]);
  }
  i64 of(const Index& index) const {
    i64 flat = 0;
    for (size_t d = 0; d < shape.size(); d++) {
      bool whole = kept[d] == 1 || kept[d] == shape[d];
      flat = flat * kept[d] + (kept[d] == 1 ? 0 : whole ? index[d] : index[d] / (shape[d] / kept[d]));
    }
    return flat;
  }
};

Sums sums_of(const Tensor& x, const Classes& classes) {
  i64 count = elements(classes.kept);
  double members = static_cast<double>(x.size()) / static_cast<double>(std::max<i64>(count, 1));
  Sums s{std::vector<double>(at(count)), std::vector<double>(at(count))};
  for_each_index(x.type.shape, [&](const Index& i, i64 flat) { s.mean[at(classes.of(i))] += x.get(flat) / members; });
  for_each_index(x.type.shape, [&](const Index& i, i64 flat) {
    size_t c = at(classes.of(i));
    s.variance[c] += (x.get(flat) - s.mean[c]) * (x.get(flat) - s.mean[c]) / members;
  });
  return s;
}

double deviation(const Node& node, double variance) {
  if (is_mean_variance(node)) return std::sqrt(variance) + kMeanVarianceGuard;
  return std::sqrt(variance + node.attrs.get_float("epsilon", 1e-5));
}

double parameter_at(const Node& node, const Moments& m, const Tensor& parameter, const Shape& x, const Index& index) {
  const Shape& own = parameter.type.shape;
  if (node.op == "LayerNormalization") return parameter.get(flat_broadcast(own, index));
  size_t axis = at(channel_axis(node, static_cast<i64>(x.size())));
  if (m.groups > 0 && own[0] == m.groups) return parameter.get(index[axis] / (x[axis] / m.groups));
  return parameter.get(index[axis]);
}

}  // namespace

loop::Func lower_moments(const Node& node, Types in, Types out) {
  Nest nest(moments_of(node, in[0].shape), in[0].shape);
  DType dtype = in[0].dtype, acc = compute_type(dtype);
  FuncBuilder b(node.op);
  std::vector<int> params = add_inputs(b, in, {"x", "scale", "bias"});
  std::vector<int> outs = add_outputs(b, out, {"y", "mean_out", "inverse_deviation"});
  Statistics stats{nest, b, acc, params[0]};
  stats.build();
  if (outs[0] >= 0)
    b.block("normalize", in[0].shape, outs[0], [&](const Vars& v) {
      Vars kept = nest.kept_of(v);
      Expr value = stats.centered(v, kept) * stats.inverse_deviation(node, kept);
      auto parameter = [&](size_t i) {
        return loop::cast(acc, b.load(params[i], parameter_index(node, nest, in[i].shape, v)));
      };
      if (present(in, 1)) value = value * parameter(1);
      if (present(in, 2)) value = value + parameter(2);
      return loop::cast(dtype, value);
    });
  if (outs.size() > 1 && outs[1] >= 0)
    b.block("mean_out", out[1].shape, outs[1], [&](const Vars& v) { return stats.mean_at(nest.kept_of(v)); });
  if (outs.size() > 2 && outs[2] >= 0)
    b.block("deviation", out[2].shape, outs[2],
            [&](const Vars& v) { return stats.inverse_deviation(node, nest.kept_of(v)); });
  return b.take();
}

void moments_reference(const Node& node, std::span<const Tensor* const> in, std::span<Tensor> out) {
  const Tensor& x = *in[0];
  Moments m = moments_of(node, x.type.shape);
  Classes classes(m, x.type.shape);
  Sums sums = sums_of(x, classes);
  for_each_index(x.type.shape, [&](const Index& index, i64 flat) {
    size_t c = at(classes.of(index));
    double value = (x.get(flat) - sums.mean[c]) / deviation(node, sums.variance[c]);
    if (present(in, 1)) value *= parameter_at(node, m, *in[1], x.type.shape, index);
    if (present(in, 2)) value += parameter_at(node, m, *in[2], x.type.shape, index);
    out[0].set(flat, value);
  });
  for (size_t o = 1; o < out.size(); o++)
    for (i64 i = 0; i < out[o].size(); i++)
      out[o].set(i, o == 1 ? sums.mean[at(i)] : 1 / deviation(node, sums.variance[at(i)]));
}

}  // namespace mcc::ops
