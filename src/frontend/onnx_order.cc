// The order of nodes. The ONNX specification wants them sorted, and nearly all files are; some exporters forget it. A
// sorted list is recognised in one pass and left alone, any other is sorted stably (Kahn), and a cycle is an error.
//
// A node reads its inputs and whatever its subgraphs read from outside. A name that one of them defines itself is taken
// for that one's in all of them; ONNX forbids to define it outside as well, but
// some files do.
#include <queue>
#include <unordered_set>

#include "frontend/onnx_walk.h"

namespace mcc::frontend {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

void collect_reads(const onnx::NodeProto& node, std::vector<std::string>& reads) {
  std::vector<const onnx::NodeProto*> open = {&node};
  std::vector<std::string> inside;
  std::unordered_set<std::string> own;
  while (!open.empty()) {
    const onnx::NodeProto& next = *open.back();
    open.pop_back();
    for (const std::string& name : next.input())
      if (!name.empty()) (&next == &node ? reads : inside).push_back(name);
    const auto add_graph = [&](const onnx::GraphProto& graph) {
      for (const auto& inner : graph.node()) {
        open.push_back(&inner);
        own.insert(inner.output().begin(), inner.output().end());
      }
      for (const auto& input : graph.input()) own.insert(input.name());
      for (const auto& tensor : graph.initializer()) own.insert(tensor.name());
      for (const auto& output : graph.output()) inside.push_back(output.name());
    };
    for (const auto& attribute : next.attribute()) {
      if (attribute.has_g()) add_graph(attribute.g());
      for (const auto& graph : attribute.graphs()) add_graph(graph);
    }
  }
  for (std::string& name : inside)
    if (!own.contains(name)) reads.push_back(std::move(name));
}

bool is_sorted(const std::vector<std::vector<int>>& sources) {
  for (size_t i = 0; i < sources.size(); i++)
    for (const int source : sources[i])
      if (source >= static_cast<int>(i)) return false;
  return true;
}

std::vector<int> kahn(const std::vector<std::vector<int>>& sources) {
  std::vector<std::vector<int>> readers(sources.size());
  std::vector<size_t> waiting(sources.size());
  for (size_t i = 0; i < sources.size(); i++) {
    waiting[i] = sources[i].size();
    for (const int source : sources[i]) readers[at(source)].push_back(static_cast<int>(i));
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (size_t i = 0; i < sources.size(); i++)
    if (waiting[i] == 0) ready.push(static_cast<int>(i));
  std::vector<int> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (const int reader : readers[at(order.back())])
      if (--waiting[at(reader)] == 0) ready.push(reader);
  }
  return order;
}

}  // namespace

std::vector<int> dependency_order(const Nodes& nodes) {
  std::unordered_map<std::string, int> made_by;
  for (int i = 0; i < nodes.size(); i++)
    for (const std::string& name : nodes[i].output())
      if (!name.empty() && !made_by.emplace(name, i).second) fail("value '{}' is defined twice", name);

  std::vector<std::vector<int>> sources(static_cast<size_t>(nodes.size()));
  for (int i = 0; i < nodes.size(); i++) {
    std::vector<std::string> reads;
    collect_reads(nodes[i], reads);
    for (const std::string& name : reads) {
      const auto found = made_by.find(name);
      if (found != made_by.end()) sources[at(i)].push_back(found->second);
    }
  }
  std::vector<int> order;
  if (is_sorted(sources)) {
    for (int i = 0; i < nodes.size(); i++) order.push_back(i);
    return order;
  }
  order = kahn(sources);
  if (static_cast<int>(order.size()) == nodes.size()) return order;
  const std::unordered_set<int> sorted(order.begin(), order.end());
  for (int i = 0; i < nodes.size(); i++)
    if (!sorted.contains(i) && nodes[i].output_size() > 0)
      fail("the graph has a cycle through value '{}'", nodes[i].output(0));
  fail("the graph has a cycle");
}

}  // namespace mcc::frontend
