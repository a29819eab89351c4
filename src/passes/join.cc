// See join.h.
#include "passes/join.h"

#include <map>
#include <set>
#include <unordered_map>

#include "base/text.h"
#include "loop/build.h"
#include "loop/loop_ops.h"
#include "passes/rewrite.h"

namespace mcc {
namespace {

using loop::Buffer;
using loop::Expr;
using loop::ExprOp;
using loop::Func;
using loop::Scope;
using loop::Stmt;

using Names = std::unordered_map<std::string, int>;  // those that are taken, with the last number given to each

std::string unique(Names& taken, const std::string& name, std::string_view separator) {
  const auto [found, is_new] = taken.try_emplace(name, 1);
  if (is_new) return name;
  for (int number = found->second;;) {
    std::string next = fmt::format("{}{}{}", name, separator, ++number);
    if (!taken.try_emplace(next, 1).second) continue;
    taken[name] = number;
    return next;
  }
}

// Scales of quantised nodes stay parameters: they differ in every layer, and equal programs are tuned once.
bool keeps_scalars(const Node& node) {
  return node.op.find("Quantize") != std::string::npos || node.op.starts_with("QLinear") ||
         node.op.ends_with("Integer");
}

Expr scalar_of(const Tensor& tensor) {
  const DType dtype = tensor.type.dtype;
  return is_float(dtype) ? loop::const_float(tensor.get(0), dtype) : loop::const_int(tensor.get_int(0), dtype);
}

struct Part {
  const Node* node;
  Func func;
  std::vector<ValueId> values;  // of the parameters, in order
};

Part lower_node(const Graph& graph, const Node& node) {
  const OpDef* op = find_op(node.op);
  if (!op) fail("{}: operator {} is not supported", describe(node), node.op);
  if (!op->lower) fail("{}: operator {} can only be evaluated when its inputs are constant", describe(node), node.op);
  std::vector<TensorType> out;
  Part part{&node, {}, {}};
  for (const ValueId v : node.in)
    if (v != kNone) part.values.push_back(v);
  for (const ValueId v : node.out) {
    out.push_back(v == kNone ? missing_type() : graph.value(v).type);
    if (v != kNone) part.values.push_back(v);
  }
  try {
    part.func = op->lower(node, input_types(graph, node), out);
  } catch (const Error& error) {
    fail("{}: {}", describe(node), error.what());
  }
  MCC_CHECK(loop::params(part.func).size() == part.values.size());
  return part;
}

class Joiner {
 public:
  Joiner(const Graph& graph, const FusedGroup& group, std::span<const LoweredModel::View> views)
      : graph_(graph), views_(views) {
    for (const int n : group.nodes) parts_.push_back(lower_node(graph, graph.nodes[at(n)]));
    add_params(group);
    for (const Part& part : parts_) append(part);
  }

  Func func;
  std::vector<ValueId> args;

 private:
  const Graph& graph_;
  std::span<const LoweredModel::View> views_;
  std::vector<Part> parts_;
  std::map<ValueId, int> buffer_of_;
  Names buffer_names_, var_names_, block_names_;
  // How the part being appended maps into func.
  std::vector<int> buffers_;
  std::vector<const Tensor*> scalars_;  // by the part's buffer: replaces its loads
  int first_var_ = 0;
  std::map<std::string, std::string> blocks_;

  void add_buffer(ValueId v, const std::string& name, Scope scope) {
    const TensorType& type = graph_.value(v).type;
    const Shape& pitch = views_[at(v)].pitch;
    buffer_of_[v] = static_cast<int>(func.buffers.size());
    func.buffers.push_back(
        {unique(buffer_names_, name, "."), type.dtype, pitch.empty() ? type.shape : pitch, scope, {}});
    if (scope != Scope::temp) args.push_back(v);
  }

  const Tensor* scalar(const Node& node, ValueId v) const {
    const Tensor* constant = graph_.value(v).constant.get();
    return constant && constant->size() == 1 && !keeps_scalars(node) ? constant : nullptr;
  }

  void add_params(const FusedGroup& group) {
    const std::set<ValueId> outside(group.inputs.begin(), group.inputs.end());
    for (const Part& part : parts_) {
      const std::vector<int> params = loop::params(part.func);
      for (size_t i = 0; i < params.size(); i++) {
        const ValueId v = part.values[i];
        if (!outside.contains(v) || buffer_of_.contains(v) || scalar(*part.node, v)) continue;
        const bool is_constant = graph_.value(v).constant != nullptr;
        add_buffer(v, part.func.buffer(params[i]).name, is_constant ? Scope::constant : Scope::input);
      }
    }
    for (const ValueId v : group.outputs) add_buffer(v, "y", Scope::output);
  }

  void append(const Part& part) {
    const std::vector<int> params = loop::params(part.func);
    buffers_.assign(part.func.buffers.size(), -1);
    scalars_.assign(part.func.buffers.size(), nullptr);
    blocks_.clear();
    for (size_t i = 0; i < params.size(); i++) {
      const ValueId v = part.values[i];
      const auto p = static_cast<size_t>(params[i]);
      scalars_[p] = part.func.buffers[p].scope == Scope::output ? nullptr : scalar(*part.node, v);
      if (scalars_[p]) continue;
      if (!buffer_of_.contains(v)) add_buffer(v, lower_case(part.node->op), Scope::temp);
      buffers_[p] = buffer_of_.at(v);
      MCC_CHECK(part.func.buffers[p].shape == graph_.value(v).type.shape);
    }
    for (size_t b = 0; b < buffers_.size(); b++) {
      if (buffers_[b] >= 0 || scalars_[b]) continue;
      buffers_[b] = static_cast<int>(func.buffers.size());
      func.buffers.push_back(part.func.buffers[b]);
      func.buffers.back().name = unique(buffer_names_, part.func.buffers[b].name, ".");
    }
    first_var_ = static_cast<int>(func.vars.size());
    for (const std::string& name : part.func.vars) func.vars.push_back(unique(var_names_, name, "_"));
    for (const Stmt& stmt : part.func.body) func.body.push_back(stmt_of(stmt));
  }

  Expr expr_of(const Expr& expr) const {
    if (expr.op == ExprOp::load && scalars_[at(expr.i)]) return scalar_of(*scalars_[at(expr.i)]);
    Expr result = expr;
    if (expr.op == ExprOp::var) result.i += first_var_;
    if (expr.op == ExprOp::load) result.i = buffers_[at(expr.i)];
    for (Expr& arg : result.args) arg = expr_of(arg);
    return result;
  }

  // "conv.init" is renamed with its block: "conv.2.init".
  std::string block_of(const std::string& block) {
    constexpr std::string_view kInit = ".init";
    const bool is_init = block.ends_with(kInit);
    const std::string base = is_init ? block.substr(0, block.size() - kInit.size()) : block;
    const auto [at, is_new] = blocks_.emplace(base, "");
    if (is_new) at->second = unique(block_names_, base, ".");
    return is_init ? at->second + std::string(kInit) : at->second;
  }

  std::vector<Stmt> body_of(const std::vector<Stmt>& body) {
    std::vector<Stmt> result;
    for (const Stmt& stmt : body) result.push_back(stmt_of(stmt));
    return result;
  }

  Stmt stmt_of(const Stmt& stmt) {
    if (const auto* nest = std::get_if<loop::Loop>(&stmt.node))
      return {loop::Loop{nest->var + first_var_, nest->extent, nest->kind, body_of(nest->body)}};
    if (const auto* branch = std::get_if<loop::If>(&stmt.node))
      return {loop::If{expr_of(branch->condition), body_of(branch->then_body), body_of(branch->else_body)}};
    const auto& store = std::get<loop::Store>(stmt.node);
    loop::Store result{buffers_[at(store.buffer)], {}, expr_of(store.value), store.op, block_of(store.block)};
    for (const Expr& index : store.index) result.index.push_back(expr_of(index));
    return {std::move(result)};
  }
};

}  // namespace

KernelCall join_group(const Graph& graph, const FusedGroup& group, std::span<const LoweredModel::View> views) {
  Joiner joiner(graph, group, views);
  KernelCall call{std::move(joiner.func), std::move(joiner.args), {}};
  call.func.name = kernel_name(graph, group);
  for (const int n : group.nodes) call.nodes.push_back(graph.nodes[at(n)].name);
  return call;
}

}  // namespace mcc
