// The structs of mcc_runtime.h have the same layout on this machine and on every supported target (64-bit,
// little-endian, natural alignment), so they are filled in here, laid one after the other into a section, and their
// pointers left to relocations. The table's symbol mcc_model_NAME has a weak second name mcc_model_table, by which
// mcc_model_get() finds it.
#include "package/table.h"

#include <cstddef>
#include <cstring>

namespace mcc {
namespace {

struct Image {
  std::string symbol;  // the model's; pointers within the image are written relative to it
  std::string bytes;
  std::vector<ElfReloc> relocs;
  i64 model_at = 0;

  i64 add(const void* data, size_t size, i64 align) {
    bytes.resize(static_cast<size_t>(round_up(static_cast<i64>(bytes.size()), align)));
    const i64 at = static_cast<i64>(bytes.size());
    bytes.append(static_cast<const char*>(data), size);
    return at;
  }
  i64 add_string(const std::string& text) { return add(text.c_str(), text.size() + 1, 1); }
  // The 8 bytes at `where` point to `what` of this image. The addend is relative to the model, which stands at its very
  // start.
  void point(i64 where, i64 what) { relocs.push_back({where, symbol, what - model_at}); }
};

i64 add_tensors(Image& image, const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<mcc_tensor_info> infos;
  std::vector<std::pair<i64, i64>> names_and_shapes;
  for (size_t i = 0; i < values.size(); i++) {
    const Value& value = graph.value(values[i]);
    const i64 shape = image.add(value.type.shape.data(), value.type.shape.size() * sizeof(i64), 8);
    names_and_shapes.emplace_back(image.add_string(value.name), shape);
    mcc_tensor_info info{};
    info.dtype = static_cast<int32_t>(value.type.dtype);
    info.rank = static_cast<int32_t>(value.type.shape.size());
    info.bytes = bytes(value.type);
    info.number = tensor_number(graph, values, i);
    infos.push_back(info);
  }
  const i64 at = image.add(infos.data(), infos.size() * sizeof(mcc_tensor_info), 8);
  for (size_t i = 0; i < infos.size(); i++) {
    const i64 info = at + static_cast<i64>(i * sizeof(mcc_tensor_info));
    image.point(info + static_cast<i64>(offsetof(mcc_tensor_info, name)), names_and_shapes[i].first);
    image.point(info + static_cast<i64>(offsetof(mcc_tensor_info, shape)), names_and_shapes[i].second);
  }
  return at;
}

i64 add_steps(Image& image, const Contents& c) {
  std::vector<mcc_step> steps;
  std::vector<std::pair<i64, i64>> args_and_names;
  for (size_t call = 0; call < c.model.calls.size(); call++) {
    const std::vector<mcc_location> args = locations(c, call);
    const i64 args_at = image.add(args.data(), args.size() * sizeof(mcc_location), 8);
    args_and_names.emplace_back(args_at, image.add_string(c.model.calls[call].func.name));
    mcc_step step{};
    step.n_args = static_cast<int32_t>(args.size());
    step.scratch = c.plan.scratch[call];
    steps.push_back(step);
  }
  const i64 at = image.add(steps.data(), steps.size() * sizeof(mcc_step), 8);
  for (size_t s = 0; s < steps.size(); s++) {
    const i64 step = at + static_cast<i64>(s * sizeof(mcc_step));
    const Kernel& kernel = c.kernels.kernels[static_cast<size_t>(c.kernels.of_call[s])];
    image.relocs.push_back({step + static_cast<i64>(offsetof(mcc_step, fn)), kernel.symbol, 0});
    image.point(step + static_cast<i64>(offsetof(mcc_step, args)), args_and_names[s].first);
    image.point(step + static_cast<i64>(offsetof(mcc_step, name)), args_and_names[s].second);
  }
  return at;
}

Image make_image(const Contents& c) {
  Image image;
  image.symbol = table_symbol(c);
  mcc_model model{};
  model.abi_version = MCC_ABI_VERSION;
  model.threads = c.options.target.cores;
  model.n_inputs = static_cast<int32_t>(c.model.graph.inputs.size());
  model.n_outputs = static_cast<int32_t>(c.model.graph.outputs.size());
  model.n_steps = static_cast<int32_t>(c.model.calls.size());
  model.max_args = max_args(c);
  model.arena_bytes = c.plan.arena_bytes;
  model.arena_align = 64;
  model.weight_bytes = c.weights.bytes;
  image.model_at = image.add(&model, sizeof model, 8);
  const auto field = [&](size_t offset) { return image.model_at + static_cast<i64>(offset); };
  image.point(field(offsetof(mcc_model, name)), image.add_string(c.name));
  image.point(field(offsetof(mcc_model, inputs)), add_tensors(image, c.model.graph, c.model.graph.inputs));
  image.point(field(offsetof(mcc_model, outputs)), add_tensors(image, c.model.graph, c.model.graph.outputs));
  image.point(field(offsetof(mcc_model, steps)), add_steps(image, c));
  image.relocs.push_back({field(offsetof(mcc_model, weights)), weights_symbol(c), 0});
  return image;
}

}  // namespace

void write_table_object(const std::filesystem::path& file, const ElfMachine& machine, const Contents& c) {
  const Image image = make_image(c);
  ElfData data;
  data.section = ".data.rel.ro.mcc";
  data.relocated = true;
  data.bytes = static_cast<i64>(image.bytes.size());
  data.pieces = {{0, image.bytes}};
  data.symbols = {{image.symbol, image.model_at, sizeof(mcc_model)},
                  {"mcc_model_table", image.model_at, sizeof(mcc_model), true}};
  data.relocs = image.relocs;
  write_elf(file, machine, data);
}

void write_weights_object(const std::filesystem::path& file, const ElfMachine& machine, const Contents& c) {
  ElfData data;
  data.section = ".rodata.mcc_weights";
  data.align = 4096;
  data.bytes = std::max<i64>(c.weights.bytes, 64);
  for (const WeightBlob::Piece& piece : c.weights.pieces)
    data.pieces.emplace_back(piece.offset, std::string_view(reinterpret_cast<const char*>(piece.data.bytes()),
                                                            static_cast<size_t>(piece.data.byte_size())));
  data.symbols = {{weights_symbol(c), 0, data.bytes}};
  write_elf(file, machine, data);
}

}  // namespace mcc
