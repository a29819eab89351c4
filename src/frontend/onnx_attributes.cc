// AttributeProto -> Attrs. Graph attributes stay behind: only control flow reads them, straight from the node.
#include <cctype>

#include "frontend/onnx_walk.h"
#include "frontend/onnx_weights.h"

namespace mcc::frontend {
namespace {

using onnx::AttributeProto;

// The kind of value; files of very old exporters leave `type` out.
int kind_of(const AttributeProto& a) {
  if (a.type() != AttributeProto::UNDEFINED) return a.type();
  if (a.has_f()) return AttributeProto::FLOAT;
  if (a.has_i()) return AttributeProto::INT;
  if (a.has_s()) return AttributeProto::STRING;
  if (a.has_t()) return AttributeProto::TENSOR;
  if (a.has_g()) return AttributeProto::GRAPH;
  if (a.floats_size()) return AttributeProto::FLOATS;
  return a.ints_size() ? AttributeProto::INTS : AttributeProto::UNDEFINED;
}

// One word for an entry, so that a list of them, separated by spaces, has as many: of what is read only words that
// operators know count, and how many there are.
std::string as_word(std::string entry) {
  for (char& c : entry)
    if (std::isspace(static_cast<unsigned char>(c))) c = '_';
  return entry.empty() ? "_" : entry;
}

void convert(const AttributeProto& a, const std::string& name, Attrs& attrs, const DataFolders& folders) {
  switch (kind_of(a)) {
    case AttributeProto::FLOAT: attrs.set(name, static_cast<double>(a.f())); break;
    case AttributeProto::INT: attrs.set(name, static_cast<i64>(a.i())); break;
    case AttributeProto::STRING: attrs.set(name, a.s()); break;
    case AttributeProto::INTS: attrs.set(name, std::vector<i64>(a.ints().begin(), a.ints().end())); break;
    case AttributeProto::FLOATS: attrs.set(name, std::vector<double>(a.floats().begin(), a.floats().end())); break;
    case AttributeProto::TENSOR: attrs.set(name, tensor_from_proto(a.t(), folders)); break;
    case AttributeProto::STRINGS: {
      std::string joined;
      for (const std::string& s : a.strings()) joined += (joined.empty() ? "" : " ") + as_word(s);
      attrs.set(name, joined);
      break;
    }
    case AttributeProto::GRAPH: break;
    case AttributeProto::TYPE_PROTO: break;  // of an optional that is empty
    default: fail("attribute '{}' is of a kind that is not supported", name);
  }
}

}  // namespace

const AttributeProto* find_attribute(const onnx::NodeProto& node, const std::string& name, const Frame& frame) {
  for (const AttributeProto& attribute : node.attribute()) {
    if (attribute.name() != name) continue;
    if (attribute.ref_attr_name().empty()) return &attribute;
    const auto found = frame.arguments.find(attribute.ref_attr_name());
    return found == frame.arguments.end() ? nullptr : found->second;
  }
  return nullptr;
}

onnx::GraphProto& graph_attribute(onnx::NodeProto& node, const std::string& name) {
  for (AttributeProto& attribute : *node.mutable_attribute())
    if (attribute.name() == name && attribute.has_g()) return *attribute.mutable_g();
  fail("attribute '{}' is missing", name);
}

Attrs convert_attributes(const onnx::NodeProto& node, const Frame& frame, const DataFolders& folders) {
  Attrs attrs;
  for (const AttributeProto& attribute : node.attribute()) {
    if (attrs.has(attribute.name())) fail("attribute '{}' is given twice", attribute.name());
    if (const AttributeProto* value = find_attribute(node, attribute.name(), frame))
      convert(*value, attribute.name(), attrs, folders);
  }
  return attrs;
}

}  // namespace mcc::frontend
