// Groups of nodes that become one kernel. One walk from the last node to the first: a node joins the group of its
// consumers if they are all in one group and the pair fits, else it starts a group and is that group's exit.
//
// So each group has one exit, all other members are used only inside, and all reach the exit: two groups can never need
// each other's results, and running the groups in the order of their exits is always possible.
//
// What fits (docs/GRAPH.md): at most one anchor a group, or the two of a separable convolution (separable.h), or all of
// an attention (attention.h). Behind the anchor only elementwise nodes of the anchor's output shape (epilogue). Before
// it, or without one, elementwise and movement nodes are inlined where their elements are read about once. An
// elementwise node that can end its producer's kernel does not join its consumer's instead.
#include <algorithm>

#include "passes/attention.h"
#include "passes/separable.h"
#include "passes/views.h"

namespace mcc {
namespace {

constexpr size_t kMaxGroupNodes = 24;
constexpr i64 kMaxCopies = 8;  // of one node's expression, once everything between it and the exit is inlined

class Fuser {
 public:
  explicit Fuser(const Graph& graph)
      : graph_(graph),
        readers_(consumers(graph)),
        makers_(producers(graph)),
        is_view_(plan_views(graph).is_view),
        is_depthwise_(depthwise_results(graph)),
        attention_(inside_attention(graph)) {
    is_output_.assign(graph.values.size(), 0);
    for (const ValueId v : graph.outputs) is_output_[at(v)] = 1;
    for (const Node& node : graph.nodes) {
      const OpDef* op = find_op(node.op);
      kinds_.push_back(op ? op->fuse : FuseKind::opaque);
    }
    find_hosted();
  }

  std::vector<FusedGroup> run() {
    group_of_.assign(graph_.nodes.size(), -1);
    clean_.assign(graph_.nodes.size(), 0);
    copies_.assign(graph_.nodes.size(), 1);
    for (int n = static_cast<int>(graph_.nodes.size()); n-- > 0;) {
      if (is_view_[at(n)]) continue;
      const int group = group_to_join(n);
      const bool is_exit = group < 0;
      group_of_[at(n)] = is_exit ? static_cast<int>(groups_.size()) : group;
      if (is_exit) groups_.push_back({});
      Group& joined = groups_[at(group_of_[at(n)])];
      joined.nodes.push_back(n);
      if (!is_exit) copies_[at(n)] = copies_if_inlined(n);
      joined.has_anchor |= kinds_[at(n)] == FuseKind::anchor;
      joined.has_product |= node(n).op == "MatMul";
      clean_[at(n)] = kinds_[at(n)] == FuseKind::elementwise &&
                      (is_exit || all_readers(n, [this](int r) { return clean_[at(r)] != 0; }));
    }
    std::vector<FusedGroup> result;
    for (size_t g = groups_.size(); g-- > 0;) result.push_back(finish(groups_[g]));
    return result;
  }

 private:
  struct Group {
    std::vector<int> nodes;  // last first
    bool has_anchor = false;
    bool has_product = false;  // its operands are read again and again
  };

  const Graph& graph_;
  std::vector<std::vector<int>> readers_;
  std::vector<int> makers_;
  std::vector<char> is_view_, is_output_;
  std::vector<char> is_depthwise_;  // results of depthwise convolutions
  std::vector<char> attention_;     // joins its readers whatever it is
  std::vector<FuseKind> kinds_;
  std::vector<char> hosted_;  // elementwise, and can be the epilogue of the kernel that makes one of its inputs
  std::vector<int> group_of_;
  std::vector<char> clean_;  // elementwise, as is all between it and its group's exit
  std::vector<i64> copies_;  // see kMaxCopies
  std::vector<Group> groups_;

  const Node& node(int n) const { return graph_.nodes[at(n)]; }
  const Shape& shape(ValueId v) const { return graph_.value(v).type.shape; }

  template <typename Test>
  bool all_readers(int n, const Test& test) const {
    for (const ValueId v : node(n).out)
      if (v != kNone && !std::all_of(readers_[at(v)].begin(), readers_[at(v)].end(), test)) return false;
    return true;
  }

  i64 copies_if_inlined(int n) const {
    i64 copies = 0;
    for (const ValueId v : node(n).out)
      if (v != kNone)
        for (const int reader : readers_[at(v)])
          copies += kinds_[at(reader)] == FuseKind::anchor ? 1 : copies_[at(reader)];
    return kinds_[at(n)] == FuseKind::anchor ? 1 : copies;
  }

  void find_hosted() {
    hosted_.assign(graph_.nodes.size(), 0);
    for (int n = 0; n < static_cast<int>(graph_.nodes.size()); n++) {
      if (kinds_[at(n)] != FuseKind::elementwise) continue;
      for (const ValueId v : node(n).in) {
        if (v == kNone || makers_[at(v)] < 0 || is_output_[at(v)] || shape(v) != shape(node(n).out[0])) continue;
        const int maker = makers_[at(v)];
        const bool can_host =
            kinds_[at(maker)] == FuseKind::anchor ? node(maker).out.size() == 1 : hosted_[at(maker)] != 0;
        if (can_host && all_readers(maker, [n](int reader) { return reader == n; })) hosted_[at(n)] = 1;
      }
    }
  }

  // The group that all readers of n are in and that can take n; -1 if there is none.
  int group_to_join(int n) const {
    if (kinds_[at(n)] == FuseKind::opaque || kinds_[at(n)] == FuseKind::view) return -1;
    int group = -1;
    for (const ValueId v : node(n).out) {
      if (v == kNone) continue;
      if (is_output_[at(v)] || readers_[at(v)].empty()) return -1;
      for (const int reader : readers_[at(v)]) {
        const int of_reader = group_of_[at(reader)];
        if (of_reader < 0 || (group >= 0 && group != of_reader) || !(attention_[at(n)] || fits(n, v, reader)))
          return -1;
        group = of_reader;
      }
    }
    if (group < 0 || groups_[at(group)].nodes.size() >= kMaxGroupNodes) return -1;
    if (attention_[at(n)]) return group;
    if (kinds_[at(n)] == FuseKind::anchor && node(n).out.size() != 1) return -1;
    if (kinds_[at(n)] == FuseKind::anchor && groups_[at(group)].has_anchor && !is_depthwise_[at(n)]) return -1;
    return copies_if_inlined(n) <= kMaxCopies ? group : -1;
  }

  bool fits(int n, ValueId v, int reader) const {
    const FuseKind kind = kinds_[at(n)], into = kinds_[at(reader)];
    if (node(n).op == "Concat") return false;  // several stores to one value cannot be inlined
    if (into == FuseKind::anchor && is_depthwise_[at(n)]) return is_pointwise_of(node(reader), v);
    if (kind == FuseKind::anchor) return ends_anchor(n, reader) && shape(v) == shape(node(reader).out[0]);
    if (into == FuseKind::elementwise) return shape(v) == shape(node(reader).out[0]);
    if (hosted_[at(n)]) return false;
    if (into == FuseKind::movement)
      return !groups_[at(group_of_[at(reader)])].has_product && moves_once(node(reader), v);
    return into == FuseKind::anchor && reads_once(node(reader), v);
  }

  // Whether the elementwise reader belongs to the epilogue of anchor n, in a group without another anchor or before the
  // second convolution of a separable one.
  bool ends_anchor(int n, int reader) const {
    return clean_[at(reader)] ? !groups_[at(group_of_[at(reader)])].has_anchor
                              : is_depthwise_[at(n)] && is_depthwise_[at(reader)];
  }

  bool is_pointwise_of(const Node& reader, ValueId v) const {
    return may_be_pointwise(graph_, reader) && reader.in[0] == v;
  }

  // A movement that reads each element of v at most once.
  bool moves_once(const Node& reader, ValueId v) const {
    if (is_op(reader, {"Concat"})) return std::count(reader.in.begin(), reader.in.end(), v) == 1;
    return reader.in[0] == v &&
           is_op(reader, {"Transpose", "Slice", "Split", "Pad", "DepthToSpace", "SpaceToDepth", "Trilu"});
  }

  // A product can read a transposition in place when rows stay rows: only strides differ.
  bool keeps_rows(ValueId v) const {
    const Node& maker = node(makers_[at(v)]);
    return maker.op == "Transpose" && maker.attrs.get_ints("perm").back() == static_cast<i64>(shape(v).size()) - 1;
  }

  // An anchor that reads each element of v about once. A product reads its operands again for every row or column;
  // a padded convolution copies its input first.
  bool reads_once(const Node& reader, ValueId v) const {
    if (reader.op == "MatMul") return keeps_rows(v);
    if (reader.in[0] != v || std::count(reader.in.begin(), reader.in.end(), v) != 1) return false;
    if (reader.op == "Conv") {
      const std::vector<i64> pads = reader.attrs.get_ints("pads", {});
      return std::any_of(pads.begin(), pads.end(), [](i64 pad) { return pad != 0; });
    }
    return !is_op(reader, {"ConvTranspose", "Gemm", "Einsum", "LSTM", "GRU", "RNN", "Resize", "GridSample",
                           "MatMulInteger", "ConvInteger", "QLinearMatMul", "QLinearConv"});
  }

  FusedGroup finish(const Group& group) const {
    FusedGroup result;
    result.nodes.assign(group.nodes.rbegin(), group.nodes.rend());
    const auto add = [](std::vector<ValueId>& list, ValueId v) {
      if (std::find(list.begin(), list.end(), v) == list.end()) list.push_back(v);
    };
    const auto inside = [&](int n) {
      return n >= 0 && std::binary_search(result.nodes.begin(), result.nodes.end(), n);
    };
    for (const int n : result.nodes)
      for (const ValueId v : node(n).in)
        if (v != kNone && !inside(makers_[at(v)])) add(result.inputs, v);
    for (const ValueId v : node(result.nodes.back()).out)
      if (v != kNone) add(result.outputs, v);
    return result;
  }
};

}  // namespace

std::vector<FusedGroup> fuse(const Graph& graph) { return Fuser(graph).run(); }

}  // namespace mcc
