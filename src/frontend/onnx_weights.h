// TensorProto -> Tensor, and its element types; see onnx_weights.cc.
#pragma once
#include <filesystem>

#include "graph/tensor.h"

namespace onnx {
class TensorProto;
}

namespace mcc::frontend {

DType dtype_from_onnx(i64 elem_type, std::string_view what);  // Error naming types that are not supported
bool is_four_bits(i64 elem_type);                             // UINT4 or INT4
DType storage_dtype(i64 elem_type, std::string_view what);    // with these two as u8 and i8; see four_bits.cc

// Where files of external data may lie: in the model's folder and, when the model's file is a link, in that of the file
// it leads to. Download caches keep all files in one folder, under hashes, and link models and their data to them.
struct DataFolders {
  std::filesystem::path beside, behind_link;
};
DataFolders data_folders(const std::filesystem::path& model_file);

Tensor tensor_from_proto(const onnx::TensorProto& proto, const DataFolders& folders);

}  // namespace mcc::frontend
