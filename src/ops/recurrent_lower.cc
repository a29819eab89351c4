// Recurrent layers as loop programs. For each direction:
//
//   xw      X W^T for all steps at once: one matrix product outside of the recurrence
//   h0, c0  the state buffers, from the initial states or zero
//   time    a region, a serial loop over the steps, of
//             hr      h R^T, one matrix-vector product for all gates
//             c, h    elementwise: gates, cell and hidden state; the states are updated in place
//             y       the step's row of the output
//   y_h, y_c  the last states
//
// GRU without linear_before_reset needs r * h before its last product: blocks rh and hh. The reverse direction visits
// step T-1-s. With sequence lengths a step beyond a sequence's end leaves its state alone and writes zeros, which
// serves both directions.
#include "ops/recurrent.h"

namespace mcc::ops {

using loop::ExprOp;
using loop::StoreOp;

namespace {

struct Params {
  std::vector<int> in, out;
  bool has(size_t i) const { return i < in.size() && in[i] >= 0; }
  int output(size_t i) const { return i < out.size() ? out[i] : -1; }
};

Expr activate(const Activation& f, const Expr& x) {
  auto number = [&](double v) { return loop::constant(x.dtype, v); };
  Expr zero = number(0), one = number(1), alpha = number(f.alpha), beta = number(f.beta);
  if (f.name == "sigmoid") return loop::unary(ExprOp::sigmoid, x);
  if (f.name == "tanh") return loop::unary(ExprOp::tanh, x);
  if (f.name == "relu") return loop::max(x, zero);
  if (f.name == "affine") return alpha * x + beta;
  if (f.name == "leakyrelu") return loop::select(x < zero, alpha * x, x);
  if (f.name == "thresholdedrelu") return loop::select(alpha < x, x, zero);
  if (f.name == "scaledtanh") return alpha * loop::unary(ExprOp::tanh, beta * x);
  if (f.name == "hardsigmoid") return loop::max(loop::min(alpha * x + beta, one), zero);
  if (f.name == "elu") return loop::select(x < zero, alpha * (loop::unary(ExprOp::exp, x) - one), x);
  Expr size = loop::unary(ExprOp::abs, x);
  if (f.name == "softsign") return x / (one + size);
  MCC_CHECK(f.name == "softplus");
  return loop::max(x, zero) + loop::unary(ExprOp::log, one + loop::unary(ExprOp::exp, zero - size));
}

// One direction while it is built.
struct Builder {
  FuncBuilder& b;
  const Recurrent& r;
  const Params& params;
  i64 direction;
  DType dtype, acc;
  std::string suffix;  // of block and buffer names, "" for the first direction
  int xw = -1, hr = -1, h = -1, c = -1;

  const Activation& activation(size_t i) const { return r.directions[at(direction)].activations[i]; }
  Expr number(double v) const { return loop::constant(acc, v); }
  Expr at_direction() const { return loop::const_int(direction); }
  Expr input(size_t i, Vars index) const { return loop::cast(acc, b.load(params.in[i], std::move(index))); }
  int temp(const std::string& name, Shape shape) { return b.temp(name + suffix, acc, std::move(shape)); }
  void block(const std::string& name, int buffer, const std::function<Expr(const Vars&)>& value) {
    b.block(name + suffix, {r.batch, r.hidden}, buffer, value);
  }

  Expr clipped(const Expr& x) const {
    return r.clip > 0 ? loop::max(loop::min(x, number(r.clip)), number(-r.clip)) : x;
  }
  Expr apply(size_t i, const Expr& x) const { return activate(activation(i), clipped(x)); }
  // Row `gate` * H + j of a matrix of gates.
  Expr row(i64 gate, const Expr& j) const { return j + gate * r.hidden; }
  // X's part of a gate with its bias; h's part with its bias, v = (batch, j).
  Expr from_input(i64 gate, const Expr& t, const Vars& v) const {
    Expr sum = b.load(xw, {t, v[0], row(gate, v[1])});
    return params.has(kBias) ? sum + input(kBias, {at_direction(), row(gate, v[1])}) : sum;
  }
  Expr with_recurrent_bias(i64 gate, const Expr& sum, const Vars& v) const {
    return params.has(kBias) ? sum + input(kBias, {at_direction(), row(r.gates() + gate, v[1])}) : sum;
  }
  Expr from_state(i64 gate, const Vars& v) const {
    return with_recurrent_bias(gate, b.load(hr, {v[0], row(gate, v[1])}), v);
  }
  Expr gate_sum(i64 gate, const Expr& t, const Vars& v) const { return from_input(gate, t, v) + from_state(gate, v); }
  // P has the rows i, o, f.
  Expr with_peephole(i64 which, const Expr& sum, const Vars& v) const {
    return params.has(kPeephole) ? sum + input(kPeephole, {at_direction(), row(which, v[1])}) * b.load(c, v) : sum;
  }
  // The new state where the sequence still runs at step t, else what it was.
  Expr keep_finished(const Expr& t, const Vars& v, const Expr& fresh, const Expr& old) const {
    if (!params.has(kLens)) return fresh;
    return loop::select(t < loop::cast(DType::i64, b.load(params.in[kLens], {v[0]})), fresh, old);
  }

  void multiply_input();
  int start_state(const std::string& name, size_t initial);
  void multiply_state(const std::string& name, int to, int state, i64 first_row, i64 rows);
  void step_lstm(const Expr& t);
  void step_gru(const Expr& t);
  void step_rnn(const Expr& t);
  void run_steps();
  void finish_state(size_t output, int state, const std::string& name);
};

void Builder::multiply_input() {
  xw = temp("xw", {r.steps, r.batch, r.rows()});
  b.reduce("xw" + suffix, {r.steps, r.batch, r.rows()}, {r.input}, xw, StoreOp::add, number(0),
           [&](const Vars& s, const Vars& k) {
             return input(0, r.input_index(s[0], s[1], k[0])) * input(1, {at_direction(), s[2], k[0]});
           });
}

int Builder::start_state(const std::string& name, size_t initial) {
  int state = temp(name, {r.batch, r.hidden});
  block(name + "0", state, [&](const Vars& v) {
    return params.has(initial) ? input(initial, r.state_index(at_direction(), v[0], v[1])) : number(0);
  });
  return state;
}

// to[batch, n] = state times rows first_row.. of R.
void Builder::multiply_state(const std::string& name, int to, int state, i64 first_row, i64 rows) {
  b.reduce(name + suffix, {r.batch, rows}, {r.hidden}, to, StoreOp::add, number(0), [&](const Vars& s, const Vars& k) {
    return b.load(state, {s[0], k[0]}) * input(2, {at_direction(), s[1] + first_row, k[0]});
  });
}

void Builder::step_lstm(const Expr& t) {
  multiply_state("hr", hr, h, 0, r.rows());
  block("c", c, [&](const Vars& v) {
    Expr in_gate = apply(0, with_peephole(0, gate_sum(0, t, v), v));
    Expr forget = r.input_forget ? number(1) - in_gate : apply(0, with_peephole(2, gate_sum(2, t, v), v));
    Expr cell = forget * b.load(c, v) + in_gate * apply(1, gate_sum(3, t, v));
    return keep_finished(t, v, cell, b.load(c, v));
  });
  block("h", h, [&](const Vars& v) {
    Expr out_gate = apply(0, with_peephole(1, gate_sum(1, t, v), v));
    return keep_finished(t, v, out_gate * apply(2, b.load(c, v)), b.load(h, v));
  });
}

void Builder::step_gru(const Expr& t) {
  auto update = [&](const Vars& v, const Expr& candidate) {
    Expr z = apply(0, gate_sum(0, t, v));
    return keep_finished(t, v, (number(1) - z) * candidate + z * b.load(h, v), b.load(h, v));
  };
  auto reset = [&](const Vars& v) { return apply(0, gate_sum(1, t, v)); };
  if (r.linear_before_reset) {
    multiply_state("hr", hr, h, 0, r.rows());
    block("h", h,
          [&](const Vars& v) { return update(v, apply(1, from_input(2, t, v) + reset(v) * from_state(2, v))); });
    return;
  }
  int rh = temp("rh", {r.batch, r.hidden}), hh = temp("hh", {r.batch, r.hidden});
  multiply_state("hr", hr, h, 0, 2 * r.hidden);
  block("rh", rh, [&](const Vars& v) { return reset(v) * b.load(h, v); });
  multiply_state("hh", hh, rh, 2 * r.hidden, r.hidden);
  block("h", h, [&](const Vars& v) {
    return update(v, apply(1, from_input(2, t, v) + with_recurrent_bias(2, b.load(hh, v), v)));
  });
}

void Builder::step_rnn(const Expr& t) {
  multiply_state("hr", hr, h, 0, r.rows());
  block("h", h, [&](const Vars& v) { return keep_finished(t, v, apply(0, gate_sum(0, t, v)), b.load(h, v)); });
}

void Builder::run_steps() {
  bool two_products = r.kind == CellKind::gru && !r.linear_before_reset;
  hr = temp("hr", {r.batch, two_products ? 2 * r.hidden : r.rows()});
  b.region("time" + suffix, r.steps, [&](const Expr& s) {
    Expr t = r.directions[at(direction)].reverse ? loop::const_int(r.steps - 1) - s : s;
    switch (r.kind) {
      case CellKind::lstm: step_lstm(t); break;
      case CellKind::gru: step_gru(t); break;
      case CellKind::rnn: step_rnn(t); break;
    }
    if (params.output(0) < 0) return;
    b.block_at(
        "y" + suffix, {r.batch, r.hidden}, params.output(0),
        [&](const Vars& v) { return r.output_index(t, at_direction(), v[0], v[1]); },
        [&](const Vars& v) { return loop::cast(dtype, keep_finished(t, v, b.load(h, v), number(0))); });
  });
}

void Builder::finish_state(size_t output, int state, const std::string& name) {
  if (params.output(output) < 0) return;
  b.block_at(
      name + suffix, {r.batch, r.hidden}, params.output(output),
      [&](const Vars& v) { return r.state_index(at_direction(), v[0], v[1]); },
      [&](const Vars& v) { return loop::cast(dtype, b.load(state, v)); });
}

}  // namespace

loop::Func lower_recurrent(const Node& node, Types in, Types out) {
  Recurrent r = recurrent_of(node, in);
  FuncBuilder b(node.op);
  Params params{add_inputs(b, in, {"x", "w", "r", "b", "lens", "h_first", "c_first", "p"}),
                add_outputs(b, out, {"y", "y_h", "y_c"})};
  for (i64 d = 0; d < r.direction_count(); d++) {
    Builder cell{b, r, params, d, in[0].dtype, compute_type(in[0].dtype), d == 0 ? "" : "_back"};
    cell.multiply_input();
    cell.h = cell.start_state("h", kInitialH);
    if (r.kind == CellKind::lstm) cell.c = cell.start_state("c", kInitialC);
    cell.run_steps();
    cell.finish_state(1, cell.h, "y_h");
    if (r.kind == CellKind::lstm) cell.finish_state(2, cell.c, "y_c");
  }
  return b.take();
}

}  // namespace mcc::ops
