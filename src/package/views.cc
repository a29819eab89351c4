// See views.h. A copy is a loop program like any other kernel, so it is scheduled, tuned and compiled like one.
#include "package/views.h"

#include <set>

#include "loop/build.h"

namespace mcc {
namespace {

loop::Func copy_func(const TensorType& type, bool from_constant) {
  loop::FuncBuilder b("copy " + to_string(Shape{elements(type.shape)}));
  const Shape flat = {elements(type.shape)};
  const int x = from_constant ? b.constant_input("x", type.dtype, flat) : b.input("x", type.dtype, flat);
  const int y = b.output("y", type.dtype, flat);
  b.block("copy", flat, y, [&](const loop::Vars& v) { return b.load(x, v); });
  return b.take();
}

}  // namespace

std::vector<Resolved> resolve_views(const LoweredModel& model) {
  MCC_CHECK(model.views.size() == model.graph.values.size());
  std::vector<Resolved> resolved;
  for (size_t v = 0; v < model.views.size(); v++) {
    Resolved at{static_cast<ValueId>(v), 0};
    for (size_t depth = 0; model.views[static_cast<size_t>(at.root)].base != kNone; depth++) {
      MCC_CHECK(depth < model.views.size());
      const LoweredModel::View& view = model.views[static_cast<size_t>(at.root)];
      at = {view.base, at.offset + view.offset_bytes};
    }
    resolved.push_back(at);
  }
  return resolved;
}

bool covers_root(const LoweredModel& model, const std::vector<Resolved>& resolved, ValueId value) {
  const Resolved& at = resolved[static_cast<size_t>(value)];
  const auto& values = model.graph.values;
  return at.offset == 0 &&
         bytes(values[static_cast<size_t>(value)].type) == bytes(values[static_cast<size_t>(at.root)].type);
}

LoweredModel copied_outputs(LoweredModel model) {
  std::vector<Resolved> resolved = resolve_views(model);
  // Roots that no further output may have.
  std::set<ValueId> taken(model.graph.inputs.begin(), model.graph.inputs.end());
  for (ValueId& output : model.graph.outputs) {
    const ValueId source = output, root = resolved[at(source)].root;
    const bool constant = model.graph.value(root).constant != nullptr;
    if (!constant && covers_root(model, resolved, source) && taken.insert(root).second) continue;
    const Value& value = model.graph.value(source);
    KernelCall call{copy_func(value.type, value.constant != nullptr), {source}, {"copy of output " + value.name}};
    output = model.graph.add_value(value.name, value.type);
    call.args.push_back(output);
    model.calls.push_back(std::move(call));
    model.views.emplace_back();
    resolved.push_back({output, 0});
    taken.insert(output);
  }
  return model;
}

}  // namespace mcc
