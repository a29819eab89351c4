// Weights: every way in which a TensorProto can hold data, checked against its declared shape before any memory is
// taken.
//
// Data is raw little-endian bytes, or one of the typed fields (narrow types travel as int32_data, unsigned 32-bit ones
// as uint64_data, 4-bit integers as bytes of two numbers each), or lies in a file beside the model. Such a file must be
// inside the model's folder (DataFolders): a model is data from elsewhere and may not name /etc/passwd.
#include "frontend/onnx_weights.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>

#include "base/text.h"
#include "frontend/frontend.h"
#include "graph/raw.h"

namespace mcc::frontend {
namespace fs = std::filesystem;
static_assert(std::endian::native == std::endian::little, "raw data is little-endian");

// Younger than libonnx's own list.
constexpr i64 kUint4 = 21, kInt4 = 22;

bool is_four_bits(i64 elem_type) { return elem_type == kUint4 || elem_type == kInt4; }

DType storage_dtype(i64 elem_type, std::string_view what) {
  if (is_four_bits(elem_type)) return elem_type == kUint4 ? DType::u8 : DType::i8;
  return dtype_from_onnx(elem_type, what);
}

DType dtype_from_onnx(i64 elem_type, std::string_view what) {
  switch (elem_type) {
    case onnx::TensorProto::FLOAT: return DType::f32;
    case onnx::TensorProto::DOUBLE: return DType::f64;
    case onnx::TensorProto::FLOAT16: return DType::f16;
    case onnx::TensorProto::BFLOAT16: return DType::bf16;
    case onnx::TensorProto::INT8: return DType::i8;
    case onnx::TensorProto::INT16: return DType::i16;
    case onnx::TensorProto::INT32: return DType::i32;
    case onnx::TensorProto::INT64: return DType::i64;
    case onnx::TensorProto::UINT8: return DType::u8;
    case onnx::TensorProto::UINT16: return DType::u16;
    case onnx::TensorProto::UINT32: return DType::u32;
    case onnx::TensorProto::UINT64: return DType::u64;
    case onnx::TensorProto::BOOL: return DType::boolean;
    case onnx::TensorProto::UNDEFINED: fail("{}: no element type is given", what);
    case onnx::TensorProto::STRING: fail("{}: strings are not supported", what);
    case onnx::TensorProto::COMPLEX64:
    case onnx::TensorProto::COMPLEX128: fail("{}: complex numbers are not supported", what);
    case 17:
    case 18:
    case 19:
    case 20: fail("{}: 8-bit floats are not supported", what);
    case kUint4:
    case kInt4: fail("{}: 4-bit integers are not supported", what);
    default: fail("{}: element type {} is not known", what, elem_type);
  }
}

namespace {

struct External {
  std::string location;
  i64 offset = 0;
  i64 length = -1;  // to be the tensor's size when absent
};

External external_of(const onnx::TensorProto& proto, const std::string& what) {
  External external;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") external.location = entry.value();
    if (entry.key() != "offset" && entry.key() != "length") continue;
    const auto number = to_i64(entry.value());
    if (!number || *number < 0) fail("{}: external data has {} '{}'", what, entry.key(), entry.value());
    (entry.key() == "offset" ? external.offset : external.length) = *number;
  }
  return external;
}

bool lies_in(const fs::path& folder, const fs::path& file) {
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first == folder.end();
}

fs::path external_file(const std::string& location, const DataFolders& folders, const std::string& what) {
  const fs::path relative(location);
  const bool climbs = std::find(relative.begin(), relative.end(), "..") != relative.end();
  if (location.empty() || relative.is_absolute() || climbs)
    fail("{}: external data lies at '{}', outside the model's folder", what, location);
  std::error_code error;
  const fs::path base = fs::weakly_canonical(folders.beside.empty() ? fs::path(".") : folders.beside, error);
  const fs::path file = fs::weakly_canonical(base / relative, error);
  const bool linked = !folders.behind_link.empty() && file.parent_path() == folders.behind_link;
  if (!lies_in(base, file) && !linked)
    fail("{}: external data lies at '{}', outside the model's folder", what, location);
  if (!fs::is_regular_file(file, error)) fail("{}: external data file {} is missing", what, file.string());
  return file;
}

Tensor read_external(const onnx::TensorProto& proto, const TensorType& type, const DataFolders& folders,
                     const std::string& what) {
  const External external = external_of(proto, what);
  const fs::path file = external_file(external.location, folders, what);
  const i64 size = bytes(type);
  if (external.length >= 0 && external.length != size)
    fail("{}: external data has {} bytes, but {} needs {}", what, external.length, to_string(type), size);
  const i64 file_size = static_cast<i64>(fs::file_size(file));
  if (external.offset > file_size || size > file_size - external.offset)
    fail("{}: {} ends before the {} bytes of its external data at {}", what, file.string(), size, external.offset);
  Tensor tensor(type);
  std::ifstream stream(file, std::ios::binary);
  stream.seekg(external.offset);
  if (!stream.read(reinterpret_cast<char*>(tensor.bytes()), size)) fail("{}: cannot read {}", what, file.string());
  return tensor;
}

template <typename Field>
void require_count(const Field& field, const TensorType& type, const std::string& what) {
  if (field.size() != elements(type.shape))
    fail("{}: {} values are given, but {} needs {}", what, field.size(), to_string(type), elements(type.shape));
}

template <typename T, typename Field>
Tensor copy_as(const Field& field, const TensorType& type, const std::string& what) {
  require_count(field, type, what);
  Tensor tensor(type);
  std::transform(field.begin(), field.end(), tensor.data<T>().begin(),
                 [](auto value) { return static_cast<T>(value); });
  return tensor;
}

Tensor typed_data(const onnx::TensorProto& proto, const TensorType& type, const std::string& what) {
  switch (type.dtype) {
    case DType::f32: return copy_as<float>(proto.float_data(), type, what);
    case DType::f64: return copy_as<double>(proto.double_data(), type, what);
    case DType::i64: return copy_as<std::int64_t>(proto.int64_data(), type, what);
    case DType::u64: return copy_as<std::uint64_t>(proto.uint64_data(), type, what);
    case DType::u32: return copy_as<std::uint32_t>(proto.uint64_data(), type, what);
    case DType::i32: return copy_as<std::int32_t>(proto.int32_data(), type, what);
    case DType::i16: return copy_as<std::int16_t>(proto.int32_data(), type, what);
    case DType::i8: return copy_as<std::int8_t>(proto.int32_data(), type, what);
    case DType::u8: return copy_as<std::uint8_t>(proto.int32_data(), type, what);
    case DType::boolean: return copy_as<bool>(proto.int32_data(), type, what);
    case DType::u16:
    case DType::f16:
    case DType::bf16: return copy_as<std::uint16_t>(proto.int32_data(), type, what);
  }
  check_failed(__FILE__, __LINE__, "dtype");
}

Tensor raw_data(const std::string& raw, const TensorType& type, const std::string& what) {
  if (static_cast<i64>(raw.size()) != bytes(type))
    fail("{}: {} bytes are given, but {} needs {}", what, raw.size(), to_string(type), bytes(type));
  Tensor tensor(type);
  if (!raw.empty()) std::memcpy(tensor.bytes(), raw.data(), raw.size());
  return tensor;
}

Tensor read_data(const onnx::TensorProto& proto, const TensorType& type, const DataFolders& folders,
                 const std::string& what) {
  if (proto.data_location() == onnx::TensorProto::EXTERNAL) return read_external(proto, type, folders, what);
  return proto.has_raw_data() ? raw_data(proto.raw_data(), type, what) : typed_data(proto, type, what);
}

// The first number of each byte is its lower half.
Tensor unpacked(const Tensor& packed, const TensorType& type) {
  Tensor tensor(type);
  const auto* from = reinterpret_cast<const std::uint8_t*>(packed.bytes());
  for (i64 i = 0; i < tensor.size(); i++) {
    const int number = (from[i / 2] >> (i % 2 * 4)) & 15;
    tensor.set_int(i, type.dtype == DType::i8 && number > 7 ? number - 16 : number);
  }
  return tensor;
}

}  // namespace

DataFolders data_folders(const fs::path& model_file) {
  std::error_code error;
  DataFolders folders{model_file.parent_path(), {}};
  if (fs::is_symlink(model_file, error)) folders.behind_link = fs::weakly_canonical(model_file, error).parent_path();
  return folders;
}

Tensor tensor_from_proto(const onnx::TensorProto& proto, const DataFolders& folders) {
  const std::string what = proto.name().empty() ? "tensor" : fmt::format("tensor '{}'", proto.name());
  if (proto.has_segment()) fail("{}: segmented tensors are not supported", what);
  TensorType type{storage_dtype(proto.data_type(), what), {proto.dims().begin(), proto.dims().end()}};
  if (std::any_of(type.shape.begin(), type.shape.end(), [](i64 d) { return d < 0; }))
    fail("{}: a dimension is negative", what);
  if (is_four_bits(proto.data_type())) {
    const TensorType packed{DType::u8, {ceil_div(elements(type.shape), 2)}};
    return unpacked(read_data(proto, packed, folders, what), type);
  }
  Tensor tensor = read_data(proto, type, folders, what);
  make_booleans_valid(tensor);
  return tensor;
}

}  // namespace mcc::frontend

namespace mcc {

Tensor tensor_from_proto_bytes(std::string_view bytes) {
  onnx::TensorProto proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) fail("not an ONNX tensor");
  return frontend::tensor_from_proto(proto, {});
}

}  // namespace mcc
