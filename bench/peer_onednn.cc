// oneDNN as a peer. Each step becomes a primitive with its epilogue as post-ops. Two plans are timed and the faster
// counts: all tensors in plain layouts (NCHW), and layouts of oneDNN's choice with reorders from and to the plain ones.
// Weights are re-laid beforehand. A residual already lies where and as the sum wants it, which is a gift.
#include <omp.h>
#include <dnnl.hpp>

#include "peer.h"

namespace {

using namespace peer;
using dnnl::algorithm;
using dnnl::memory;
using Dims = memory::dims;
using Tag = memory::format_tag;
constexpr auto kF32 = memory::data_type::f32;

struct Action {
  dnnl::primitive primitive;
  std::unordered_map<int, memory> arguments;
};

Dims plain_strides(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i > 0; i--) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

memory::desc plain(const Dims& dims) { return {dims, kF32, plain_strides(dims)}; }

class Plan {
 public:
  explicit Plan(bool free_layouts) : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_), free_(free_layouts) {}

  void add(const Json& step) {
    const std::string op = step.at("op");
    if (op == "conv") return convolution(step);
    if (op == "matmul") return product(step);
    if (op == "pool") return pooling(step);
    if (op == "transpose") return transposition(step);
    if (op == "softmax" || op == "layernorm" || op == "eltwise") return rows(op, step);
    no_such_op(op);
  }
  void finish() {
    if (current_ && current_.get_desc() != plain_result_) current_ = reordered(current_, plain_result_, true);
  }
  void run() {
    for (Action& action : actions_) action.primitive.execute(stream_, action.arguments);
    stream_.wait();
  }

 private:
  memory random(const memory::desc& desc) {
    tensors_.emplace_back(static_cast<int64_t>(desc.get_size() / sizeof(float)) + 16);
    return memory(desc, engine_, tensors_.back().data());
  }
  memory reordered(memory from, const memory::desc& to, bool each_run) {
    if (from.get_desc() == to) return from;
    memory result = random(to);
    dnnl::reorder reorder(from, result);
    if (each_run)
      actions_.push_back({reorder, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, result}}});
    else
      reorder.execute(stream_, from, result), stream_.wait();
    return result;
  }
  memory::desc activation_desc(const Dims& dims) { return free_ ? memory::desc(dims, kF32, Tag::any) : plain(dims); }
  // What the last step gave, or a new input of the model.
  memory input(const Dims& dims) { return current_ ? current_ : random(plain(dims)); }

  // The same with other dimensions: the bytes of a plain tensor.
  memory viewed_input(const Dims& dims) {
    return current_ ? memory(plain(dims), engine_, current_.get_data_handle()) : random(plain(dims));
  }

  static dnnl::primitive_attr epilogue(const Json& s) {
    dnnl::post_ops ops;
    if (s.value("residual", false)) ops.append_sum(1);
    const std::string activation = s.value("activation", "");
    if (activation == "relu") ops.append_eltwise(1, algorithm::eltwise_relu, 0, 0);
    if (activation == "clip") ops.append_eltwise(1, algorithm::eltwise_clip, s.at("low"), s.at("high"));
    if (activation == "gelu") ops.append_eltwise(1, algorithm::eltwise_gelu_erf, 0, 0);
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(ops);
    return attributes;
  }

  void convolution(const Json& s) {
    const Dims in = s.at("in"), out = s.at("out"), kernel = s.at("kernel"), pads = s.at("pads");
    const int64_t groups = s.at("groups");
    Dims dilations = s.at("dilations");
    for (int64_t& d : dilations) d--;
    Dims w = {out[1] / groups, in[1] / groups, kernel[0], kernel[1]};
    if (groups > 1) w.insert(w.begin(), groups);
    const memory::desc weights_any(w, kF32, Tag::any), bias_desc({out[1]}, kF32, Tag::x);
    const dnnl::convolution_forward::desc desc(
        dnnl::prop_kind::forward_inference, algorithm::convolution_direct, activation_desc(in), weights_any, bias_desc,
        activation_desc(out), s.at("strides").get<Dims>(), dilations, {pads[0], pads[1]}, {pads[2], pads[3]});
    const dnnl::convolution_forward::primitive_desc pd(desc, epilogue(s), engine_);
    const memory src = reordered(input(in), pd.src_desc(), true), dst = random(pd.dst_desc());
    const memory weights = reordered(random(plain(w)), pd.weights_desc(), false);
    push(dnnl::convolution_forward(pd),
         {{DNNL_ARG_SRC, src}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_BIAS, random(bias_desc)}, {DNNL_ARG_DST, dst}},
         dst, out);
  }

  void product(const Json& s) {
    const int64_t batch = s.at("batch"), m = s.at("m"), n = s.at("n"), k = s.at("k");
    const bool transposed = s.at("transposed"), constant = s.at("constant"), bias = s.at("bias");
    Dims a = {m, k}, b = {k, n}, c = {m, n}, bias_dims = {1, n};
    Dims b_strides = transposed ? Dims{1, k} : Dims{n, 1};
    if (batch > 1) {
      for (Dims* dims : {&a, &b, &c}) dims->insert(dims->begin(), batch);
      bias_dims.insert(bias_dims.begin(), 1);
      b_strides.insert(b_strides.begin(), k * n);
    }
    const memory::desc b_plain(b, kF32, b_strides), b_any(b, kF32, Tag::any), bias_desc = plain(bias_dims);
    const memory::desc b_desc = constant && free_ ? b_any : b_plain;
    const dnnl::matmul::desc desc = bias ? dnnl::matmul::desc(plain(a), b_desc, bias_desc, plain(c))
                                         : dnnl::matmul::desc(plain(a), b_desc, plain(c));
    const dnnl::matmul::primitive_desc pd(desc, epilogue(s), engine_);
    const memory dst = random(pd.dst_desc());
    std::unordered_map<int, memory> arguments = {
        {DNNL_ARG_SRC, viewed_input(a)},
        {DNNL_ARG_WEIGHTS, reordered(random(b_plain), pd.weights_desc(), false)},
        {DNNL_ARG_DST, dst}};
    if (bias) arguments.emplace(DNNL_ARG_BIAS, random(bias_desc));
    push(dnnl::matmul(pd), std::move(arguments), dst, c);
  }

  void pooling(const Json& s) {
    const Dims in = s.at("in"), out = s.at("out"), pads = s.at("pads");
    const bool max = s.at("kind") == "max";
    const memory source = input(in);
    const memory::desc src_desc = free_ ? memory::desc(in, kF32, Tag::nChw16c) : source.get_desc();
    const dnnl::pooling_forward::desc desc(dnnl::prop_kind::forward_inference,
                                           max ? algorithm::pooling_max : algorithm::pooling_avg_exclude_padding,
                                           src_desc, activation_desc(out), s.at("strides").get<Dims>(),
                                           s.at("kernel").get<Dims>(), {pads[0], pads[1]}, {pads[2], pads[3]});
    const dnnl::pooling_forward::primitive_desc pd(desc, engine_);
    const memory src = reordered(source, pd.src_desc(), true), dst = random(pd.dst_desc());
    push(dnnl::pooling_forward(pd), {{DNNL_ARG_SRC, src}, {DNNL_ARG_DST, dst}}, dst, out);
  }

  void transposition(const Json& s) {
    const Dims in = s.at("in"), perm = s.at("perm");
    Dims out, strides(in.size());
    for (const int64_t p : perm) out.push_back(in[static_cast<size_t>(p)]);
    const Dims out_strides = plain_strides(out);
    for (size_t i = 0; i < perm.size(); i++) strides[static_cast<size_t>(perm[i])] = out_strides[i];
    current_ = reordered(input(in), memory::desc(in, kF32, strides), true);
    plain_result_ = current_.get_desc();
  }

  // Softmax, layer norm and elementwise functions: on rows, in place of nothing else.
  void rows(const std::string& op, const Json& s) {
    const Dims dims = {s.at("rows"), s.at("columns")};
    const memory::desc desc = plain(dims);
    const memory src = viewed_input(dims), dst = random(desc);
    constexpr auto kInference = dnnl::prop_kind::forward_inference;
    std::unordered_map<int, memory> arguments = {{DNNL_ARG_SRC, src}, {DNNL_ARG_DST, dst}};
    if (op == "softmax") {
      push(dnnl::softmax_forward({dnnl::softmax_forward::desc(kInference, desc, 1), engine_}), arguments, dst, dims);
    } else if (op == "layernorm") {
      const dnnl::layer_normalization_forward::desc norm(
          kInference, desc, 1e-5f, dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift);
      const memory::desc scale({dims[1]}, kF32, Tag::x);
      arguments.emplace(DNNL_ARG_SCALE, random(scale));
      arguments.emplace(DNNL_ARG_SHIFT, random(scale));
      push(dnnl::layer_normalization_forward({norm, engine_}), arguments, dst, dims);
    } else {
      const bool gelu = s.at("kind") == "gelu";
      const dnnl::eltwise_forward::desc each(kInference, gelu ? algorithm::eltwise_gelu_erf : algorithm::eltwise_linear,
                                             desc, -1, 0);
      push(dnnl::eltwise_forward({each, engine_}), arguments, dst, dims);
    }
  }

  void push(dnnl::primitive primitive, std::unordered_map<int, memory> arguments, const memory& result,
            const Dims& dims) {
    actions_.push_back({std::move(primitive), std::move(arguments)});
    current_ = result;
    plain_result_ = plain(dims);
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  bool free_;
  std::vector<Action> actions_;
  std::vector<Tensor> tensors_;
  memory current_;
  memory::desc plain_result_;
};

Timing time_plan(const Job& job, bool free_layouts) {
  Plan plan(free_layouts);
  for (const Json& step : job.steps) plan.add(step);
  plan.finish();
  return time_runs([&] { plan.run(); }, job.seconds / 2);
}

}  // namespace

int main(int argc, char** argv) try {
  const Job job = read_job(argc, argv);
  omp_set_num_threads(job.threads);
  const Timing fixed = time_plan(job, false), chosen = time_plan(job, true);
  print("oneDNN", chosen.min_ms < fixed.min_ms ? chosen : fixed);
} catch (const dnnl::error& error) {
  std::fprintf(stderr, "oneDNN: %s\n", error.what());
  return 3;
}
