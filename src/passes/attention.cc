// Attention: softmax(scores) v, where the scores are a product, perhaps scaled and masked. As three kernels it writes
// and reads the scores several times, though a block of rows of them is used only for the same rows of the result.
//
// The pass spells the softmax out and lets the division wait until the rows of v have been summed, where there are
// fewer elements:
//
//   s = scores;  e = exp(s - max(s));  y = (e v) / sum(e)
//
// The fusion makes one kernel of that (inside_attention), and a schedule rule computes the scores block by block
// (schedule/rules/attention.cc). Only where nothing else reads what lies in between, rows and columns are enough for a
// tile, and no operand is repeated over a batch. k is then read as it is, its rows along the reduction, also where the
// model transposes it first: the kernel's own copy of k costs no more.
#include "passes/attention.h"

#include <algorithm>

#include "passes/passes.h"
#include "passes/rewrite.h"

namespace mcc {
namespace {

constexpr i64 kFewest = 16;  // rows, and columns, of the scores

// Who makes and who reads each value.
class Links {
 public:
  explicit Links(const Graph& graph) : graph_(graph), readers_(consumers(graph)), makers_(producers(graph)) {
    is_output_.assign(graph.values.size(), 0);
    for (const ValueId v : graph.outputs) is_output_[at(v)] = 1;
  }

  const Node& node(int n) const { return graph_.nodes[at(n)]; }
  const Shape& shape(ValueId v) const { return graph_.value(v).type.shape; }
  DType dtype(ValueId v) const { return graph_.value(v).type.dtype; }

  int maker(ValueId v, std::string_view op) const {
    const int n = v == kNone ? -1 : makers_[at(v)];
    return n >= 0 && node(n).op == op ? n : -1;
  }

  // Whether just these nodes read v.
  bool read_by(ValueId v, std::vector<int> nodes) const {
    std::vector<int> readers = readers_[at(v)];
    std::sort(readers.begin(), readers.end());
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    std::sort(nodes.begin(), nodes.end());
    return !is_output_[at(v)] && readers == nodes;
  }

  // From the scores that `nodes` read back to their product through elementwise nodes of the same shape; those on the
  // way, the product last. Empty: there is no product, or something else reads them.
  std::vector<int> scores(ValueId v, std::vector<int> nodes) const {
    std::vector<int> way;
    while (v != kNone && makers_[at(v)] >= 0 && read_by(v, nodes)) {
      const int n = makers_[at(v)];
      way.push_back(n);
      if (node(n).op == "MatMul") return is_batched(n) ? way : std::vector<int>{};
      if (find_op(node(n).op)->fuse != FuseKind::elementwise || node(n).out.size() != 1) return {};
      nodes = {n};
      v = next_score(n);
    }
    return {};
  }

  // A product of many rows and columns; of no more batches than its operands have.
  bool is_batched(int n) const {
    const Shape &a = shape(node(n).in[0]), &b = shape(node(n).in[1]), &y = shape(node(n).out[0]);
    const size_t rank = y.size();
    return rank >= 2 && a.size() == rank && b.size() == rank && dtype(node(n).out[0]) == DType::f32 &&
           std::equal(y.begin(), y.end() - 2, a.begin()) && std::equal(y.begin(), y.end() - 2, b.begin()) &&
           y[rank - 2] >= kFewest && y[rank - 1] >= kFewest;
  }

 private:
  const Graph& graph_;
  std::vector<std::vector<int>> readers_;
  std::vector<int> makers_;
  std::vector<char> is_output_;

  // The one operand of an elementwise node that is no parameter of the model and as large as its result.
  ValueId next_score(int n) const {
    ValueId found = kNone;
    for (const ValueId v : node(n).in) {
      if (v == kNone || makers_[at(v)] < 0 || shape(v) != shape(node(n).out[0])) continue;
      if (found != kNone && found != v) return kNone;
      found = v;
    }
    return found;
  }
};

bool along_rows(const Links& links, const Node& node, ValueId of) {
  const i64 last = std::ssize(links.shape(of)) - 1;
  const std::vector<i64> axes = node.attrs.get_ints("axes", {});
  return axes == std::vector<i64>{last} && node.attrs.get_int("keepdims", 1) != 0;
}

// The nodes of a plain attention whose second product is `n`: the softmax, then the way to the first product.
std::vector<int> plain_attention(const Links& links, int n) {
  const Node& weighted = links.node(n);
  if (weighted.op != "MatMul" || weighted.attrs.get_int("transA", 0) != 0 || !links.is_batched(n)) return {};
  const int softmax = links.maker(weighted.in[0], "Softmax");
  if (softmax < 0 || weighted.in[1] == weighted.in[0] || !links.read_by(weighted.in[0], {n})) return {};
  const Node& node = links.node(softmax);
  if (node.attrs.get_int("axis", -1) != std::ssize(links.shape(node.out[0])) - 1) return {};
  std::vector<int> nodes = links.scores(node.in[0], {softmax});
  if (!nodes.empty()) nodes.insert(nodes.begin(), softmax);
  return nodes;
}

// The same as a product with k whose rows are read as they lie; false when they do already, or cannot be.
bool read_rows_of_k(Rewriter& rw, const Node& node) {
  const Node* moved = rw.maker(node.in[1], "Transpose");
  if (!moved) return false;
  Perm perm = moved->attrs.get_ints("perm");
  const size_t rank = perm.size();
  if (rank < 2 || perm[rank - 2] != static_cast<i64>(rank) - 1) return false;
  std::swap(perm[rank - 2], perm[rank - 1]);
  Attrs product = node.attrs;
  product.set("transB", i64{node.attrs.get_int("transB", 0) == 0});
  const ValueId k = is_identity(perm) ? moved->in[0] : rw.emit("Transpose", {moved->in[0]}, attrs({{"perm", perm}}));
  rw.replace(node.out[0], rw.emit("MatMul", {node.in[0], k}, std::move(product)));
  return true;
}

void spell_out(Rewriter& rw, const Node& weighted) {
  const ValueId s = rw.maker(weighted.in[0], "Softmax")->in[0];
  const Attrs rows = attrs({{"axes", std::vector<i64>{rw.rank(s) - 1}}, {"keepdims", i64{1}}});
  const ValueId e = rw.emit("Exp", {rw.emit("Sub", {s, rw.emit("ReduceMax", {s}, rows)})});
  const ValueId sum = rw.emit("ReduceSum", {e}, rows);
  rw.replace(weighted.out[0], rw.emit("Div", {rw.emit("MatMul", {e, weighted.in[1]}, weighted.attrs), sum}));
}

}  // namespace

Graph spell_out_attention(const Graph& graph) {
  const Links links(graph);
  std::vector<char> is_first(graph.nodes.size(), 0), is_second(graph.nodes.size(), 0);
  for (size_t n = 0; n < graph.nodes.size(); n++) {
    const std::vector<int> nodes = plain_attention(links, static_cast<int>(n));
    if (nodes.empty()) continue;
    is_second[n] = 1;
    is_first[at(nodes.back())] = 1;
  }
  return rewrite_each(graph, [&](Rewriter& rw, const Node& node, const Node& old) {
    const auto n = static_cast<size_t>(&old - graph.nodes.data());
    if (is_first[n]) return read_rows_of_k(rw, node);
    if (is_second[n]) spell_out(rw, node);
    return is_second[n] != 0;
  });
}

std::vector<char> inside_attention(const Graph& graph) {
  const Links links(graph);
  std::vector<char> inside(graph.nodes.size(), 0);
  for (int n = 0; n < static_cast<int>(graph.nodes.size()); n++) {
    const Node& node = links.node(n);
    if (node.op != "Div") continue;
    const int product = links.maker(node.in[0], "MatMul"), sum = links.maker(node.in[1], "ReduceSum");
    if (product < 0 || sum < 0 || !links.is_batched(product)) continue;
    const ValueId e = links.node(product).in[0];
    const int exp = links.maker(e, "Exp");
    if (exp < 0 || !along_rows(links, links.node(sum), e) || !links.read_by(e, {product, sum})) continue;
    if (!links.read_by(node.in[0], {n}) || !links.read_by(node.in[1], {n})) continue;
    const int distance = links.maker(links.node(exp).in[0], "Sub");
    const int max = distance < 0 ? -1 : links.maker(links.node(distance).in[1], "ReduceMax");
    if (max < 0 || !links.read_by(links.node(exp).in[0], {exp}) || !links.read_by(links.node(max).out[0], {distance}))
      continue;
    const ValueId s = links.node(max).in[0];
    if (links.node(distance).in[0] != s || !along_rows(links, links.node(max), s)) continue;
    const std::vector<int> scores = links.scores(s, {distance, max});
    if (scores.empty()) continue;
    for (const int member : {sum, exp, distance, max}) inside[at(member)] = 1;
    for (const int member : scores) inside[at(member)] = 1;
  }
  return inside;
}

}  // namespace mcc
