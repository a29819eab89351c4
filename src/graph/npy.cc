// .npy: magic, version, header length, a Python dict literal with three known keys, then raw little-endian data
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html). The dict is read by looking for its keys,
// which is what all writers of the format allow.
#include "graph/npy.h"

#include <cstring>

#include "base/file.h"
#include "base/rng.h"
#include "base/text.h"
#include "graph/raw.h"

namespace mcc {
namespace {

struct Descr {
  std::string_view text;
  DType dtype;
};
constexpr Descr kDescrs[] = {{"<f4", DType::f32}, {"<f8", DType::f64}, {"<f2", DType::f16}, {"|i1", DType::i8},
                             {"<i2", DType::i16}, {"<i4", DType::i32}, {"<i8", DType::i64}, {"|u1", DType::u8},
                             {"<u2", DType::u16}, {"<u4", DType::u32}, {"<u8", DType::u64}, {"|b1", DType::boolean}};
constexpr std::string_view kMagic = "\x93NUMPY";

// The text after `'key':` in the header.
std::string_view after_key(std::string_view header, std::string_view key, std::string_view file) {
  size_t at = header.find(fmt::format("'{}'", key));
  if (at != std::string_view::npos) at = header.find(':', at);
  if (at == std::string_view::npos) fail("{}: the .npy header has no '{}'", file, key);
  return trim(header.substr(at + 1));
}

DType read_dtype(std::string_view header, std::string_view file) {
  const std::string_view rest = after_key(header, "descr", file);
  const size_t end = rest.size() > 1 ? rest.find('\'', 1) : std::string_view::npos;
  if (rest.empty() || rest[0] != '\'' || end == std::string_view::npos)
    fail("{}: structured .npy types are not supported", file);
  std::string descr(rest.substr(1, end - 1));
  if (descr.size() == 3 && descr[0] == '=') descr[0] = '<';
  if (descr.size() == 3 && descr[2] == '1') descr[0] = '|';
  for (const Descr& known : kDescrs)
    if (known.text == descr) return known.dtype;
  fail("{}: .npy element type '{}' is not supported", file, descr);
}

Shape read_shape(std::string_view header, std::string_view file) {
  const std::string_view rest = after_key(header, "shape", file);
  const size_t end = rest.find(')');
  if (rest.empty() || rest[0] != '(' || end == std::string_view::npos) fail("{}: the .npy header has no shape", file);
  Shape shape;
  for (const std::string& part : split(rest.substr(1, end - 1), ',')) {
    std::string_view text = trim(part);
    if (text.empty()) continue;
    if (text.back() == 'L') text.remove_suffix(1);
    const std::optional<i64> extent = to_i64(text);
    if (!extent || *extent < 0) fail("{}: '{}' in the .npy header is not an extent", file, text);
    shape.push_back(*extent);
  }
  return shape;
}

u64 little_endian(std::string_view bytes) {
  u64 value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace

Tensor read_npy(const std::filesystem::path& file) { return parse_npy(read_file(file), file.string()); }

Tensor parse_npy(std::string_view bytes, std::string_view file) {
  if (!bytes.starts_with(kMagic) || bytes.size() < 12) fail("{}: not a .npy file", file);
  const size_t length_size = bytes[6] == 1 ? 2 : 4, start = 8 + length_size;
  const u64 length = little_endian(bytes.substr(8, length_size));
  if (length > bytes.size() - start) fail("{}: the .npy header is cut off", file);
  const std::string_view header = bytes.substr(start, length), body = bytes.substr(start + length);
  const TensorType type{read_dtype(header, file), read_shape(header, file)};
  if (after_key(header, "fortran_order", file).starts_with("True") && type.shape.size() > 1)
    fail("{}: the array is in Fortran order; save it with numpy.ascontiguousarray", file);
  if (static_cast<i64>(body.size()) < mcc::bytes(type)) fail("{}: the data of {} is cut off", file, to_string(type));
  Tensor tensor(type);
  if (tensor.byte_size() > 0) std::memcpy(tensor.bytes(), body.data(), static_cast<size_t>(tensor.byte_size()));
  make_booleans_valid(tensor);
  return tensor;
}

std::string to_npy(const Tensor& tensor) {
  if (tensor.type.dtype == DType::bf16) {
    Tensor wide({DType::f32, tensor.type.shape});
    for (i64 i = 0; i < tensor.size(); i++) wide.set(i, tensor.get(i));
    return to_npy(wide);
  }
  std::string_view descr;
  for (const Descr& known : kDescrs)
    if (known.dtype == tensor.type.dtype) descr = known.text;
  const Shape& shape = tensor.type.shape;
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                                   join(shape, ", "), shape.size() == 1 ? "," : "");
  header.append(static_cast<size_t>(63 - (10 + static_cast<i64>(header.size())) % 64), ' ');
  header += '\n';
  std::string bytes(kMagic);
  bytes += {'\x01', '\x00', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(tensor.bytes()), static_cast<size_t>(tensor.byte_size()));
  return bytes;
}

Tensor random_input(const TensorType& type, std::string_view name, int index, std::uint32_t seed) {
  const std::string lower = lower_case(name);
  const bool is_mask = lower.find("mask") != std::string::npos || lower.find("type") != std::string::npos;
  const std::uint32_t limit = is_mask ? 2 : 100;
  Tensor tensor(type);
  InputRng rng(seed, index);
  for (i64 i = 0; i < tensor.size(); i++) {
    const std::uint32_t x = rng.next();
    switch (type.dtype) {
      case DType::f32:
      case DType::f64:
      case DType::bf16: tensor.set(i, static_cast<double>(x >> 8) / 0x1p23 - 1); break;
      case DType::f16: tensor.set(i, static_cast<double>(x >> 21) / 0x1p10 - 1); break;
      case DType::u8: tensor.set_int(i, x >> 24); break;
      case DType::i8: tensor.set_int(i, static_cast<i64>(x >> 24) - 128); break;
      case DType::boolean: tensor.set_int(i, x >> 31); break;
      default: tensor.set_int(i, (x >> 8) % limit);
    }
  }
  return tensor;
}

}  // namespace mcc
