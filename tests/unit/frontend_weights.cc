// Tensors of every kind, external data, and files that are damaged or hostile.
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/rng.h"
#include "onnx_models.h"

namespace mcc {
namespace {

onnx::TensorProto tensor_of(int data_type, const std::vector<i64>& dims) {
  onnx::TensorProto tensor;
  tensor.set_name("w");
  tensor.set_data_type(data_type);
  for (const i64 dim : dims) tensor.add_dims(dim);
  return tensor;
}

std::string error_of(const onnx::TensorProto& tensor) {
  try {
    tensor_from_proto_bytes(tensor.SerializeAsString());
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Weights, TypedFieldsOfEveryType) {
  const std::pair<int, DType> types[] = {
      {onnx::TensorProto::INT8, DType::i8},    {onnx::TensorProto::UINT8, DType::u8},
      {onnx::TensorProto::INT16, DType::i16},  {onnx::TensorProto::UINT16, DType::u16},
      {onnx::TensorProto::INT32, DType::i32},  {onnx::TensorProto::BOOL, DType::boolean},
      {onnx::TensorProto::INT64, DType::i64},  {onnx::TensorProto::UINT32, DType::u32},
      {onnx::TensorProto::UINT64, DType::u64}, {onnx::TensorProto::FLOAT, DType::f32},
      {onnx::TensorProto::DOUBLE, DType::f64}};
  for (const auto& [onnx_type, dtype] : types) {
    onnx::TensorProto tensor = tensor_of(onnx_type, {1});
    tensor.add_int32_data(1);
    tensor.add_int64_data(1);
    tensor.add_uint64_data(1);
    tensor.add_float_data(1);
    tensor.add_double_data(1);
    const Tensor read = tensor_from_proto_bytes(tensor.SerializeAsString());
    EXPECT_EQ(read.type, (TensorType{dtype, {1}}));
    EXPECT_EQ(read.get(0), 1);
  }
}

TEST(Weights, RawAndHalfPrecision) {
  onnx::TensorProto half = tensor_of(onnx::TensorProto::FLOAT16, {2});
  half.set_raw_data(std::string("\x00\x3c\x00\xc0", 4));
  EXPECT_EQ(to_doubles(tensor_from_proto_bytes(half.SerializeAsString())), (std::vector<double>{1, -2}));
  onnx::TensorProto brain = tensor_of(onnx::TensorProto::BFLOAT16, {1});
  brain.add_int32_data(0x3f80);
  EXPECT_EQ(tensor_from_proto_bytes(brain.SerializeAsString()).get(0), 1);
  onnx::TensorProto truth = tensor_of(onnx::TensorProto::BOOL, {2});
  truth.set_raw_data(std::string("\x02\x00", 2));
  EXPECT_EQ(to_doubles(tensor_from_proto_bytes(truth.SerializeAsString())), (std::vector<double>{1, 0}));
}

TEST(Weights, FourBitsTwoNumbersAByte) {
  onnx::TensorProto raw = tensor_of(kInt4, {3});
  raw.set_raw_data(std::string("\x8f\x07", 2));
  const Tensor read = tensor_from_proto_bytes(raw.SerializeAsString());
  EXPECT_EQ(read.type, (TensorType{DType::i8, {3}}));
  EXPECT_EQ(to_ints(read), (std::vector<i64>{-1, -8, 7}));
  onnx::TensorProto typed = tensor_of(kUint4, {2, 2});
  for (const int byte : {0x8f, 0x07}) typed.add_int32_data(byte);
  EXPECT_EQ(to_ints(tensor_from_proto_bytes(typed.SerializeAsString())), (std::vector<i64>{15, 8, 7, 0}));
  typed.add_int32_data(0);
  EXPECT_NE(error_of(typed).find("3 values are given, but u8[2] needs 2"), std::string::npos);
}

TEST(Weights, SizesMustMatch) {
  onnx::TensorProto raw = tensor_of(onnx::TensorProto::FLOAT, {2});
  raw.set_raw_data("1234");
  EXPECT_NE(error_of(raw).find("4 bytes are given, but f32[2] needs 8"), std::string::npos);
  onnx::TensorProto typed = tensor_of(onnx::TensorProto::FLOAT, {3});
  typed.add_float_data(1);
  EXPECT_NE(error_of(typed).find("1 values are given"), std::string::npos);
  EXPECT_NE(error_of(tensor_of(onnx::TensorProto::FLOAT, {-3})).find("negative"), std::string::npos);
  EXPECT_NE(error_of(tensor_of(onnx::TensorProto::FLOAT, {i64{1} << 40, i64{1} << 40})).find("too large"),
            std::string::npos);
  EXPECT_NE(error_of(tensor_of(onnx::TensorProto::STRING, {0})).find("strings are not supported"), std::string::npos);
  EXPECT_NE(error_of(tensor_of(99, {1})).find("element type 99 is not known"), std::string::npos);
}

OnnxModel with_external(const std::string& location, const std::string& offset, const std::string& length) {
  OnnxModel model;
  model.input("x", {"2"}).output("y").node("Add", {"x", "w"}, {"y"});
  onnx::TensorProto& tensor = *model.graph().add_initializer();
  tensor = tensor_of(onnx::TensorProto::FLOAT, {2});
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  const std::pair<const char*, std::string> entries[] = {
      {"location", location}, {"offset", offset}, {"length", length}};
  for (const auto& [key, value] : entries) {
    if (value.empty()) continue;
    onnx::StringStringEntryProto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
  return model;
}

TEST(Weights, ExternalDataIsReadAndChecked) {
  const TempDir folder;
  std::filesystem::create_directory(folder.path() / "model");
  write_file(folder.path() / "secret", std::string(64, 'x'));
  write_file(folder.path() / "model" / "w.bin", std::string(4, '\0') + std::string("\0\0\x80\x3f\0\0\0\x40", 8));
  const auto import = [&](const OnnxModel& model) {
    write_file(folder.path() / "model" / "m.onnx", model.bytes());
    try {
      const Graph graph = import_onnx(folder.path() / "model" / "m.onnx");
      for (const Value& value : graph.values) {
        if (value.constant) {
          EXPECT_EQ(to_doubles(*value.constant), (std::vector<double>{1, 2}));
        }
      }
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(import(with_external("w.bin", "4", "8")), "");
  EXPECT_EQ(import(with_external("./w.bin", "4", "")), "");
  EXPECT_NE(import(with_external("w.bin", "8", "")).find("ends before the 8 bytes"), std::string::npos);
  EXPECT_NE(import(with_external("w.bin", "9223372036854775807", "")).find("ends before the 8 bytes"),
            std::string::npos);
  EXPECT_NE(import(with_external("w.bin", "4", "4")).find("has 4 bytes, but f32[2] needs 8"), std::string::npos);
  EXPECT_NE(import(with_external("w.bin", "-4", "8")).find("offset '-4'"), std::string::npos);
  EXPECT_NE(import(with_external("../secret", "", "")).find("outside the model's folder"), std::string::npos);
  EXPECT_NE(import(with_external((folder.path() / "secret").string(), "", "")).find("outside"), std::string::npos);
  EXPECT_NE(import(with_external("none.bin", "", "")).find("is missing"), std::string::npos);
  std::filesystem::create_symlink(folder.path() / "secret", folder.path() / "model" / "link");
  EXPECT_NE(import(with_external("link", "", "")).find("outside the model's folder"), std::string::npos);
}

// Download caches link models and their data to one folder of files under hashes.
TEST(Weights, ExternalDataBehindLinksOfACache) {
  const TempDir folder;
  const std::filesystem::path blobs = folder.path() / "blobs", shown = folder.path() / "snapshots" / "1";
  std::filesystem::create_directories(blobs);
  std::filesystem::create_directories(shown);
  write_file(blobs / "a1", with_external("m.data", "", "").bytes());
  write_file(blobs / "b2", std::string(8, '\0'));
  std::filesystem::create_symlink("../../blobs/a1", shown / "m.onnx");
  std::filesystem::create_symlink("../../blobs/b2", shown / "m.data");
  EXPECT_NO_THROW(import_onnx(shown / "m.onnx"));
  std::filesystem::remove(shown / "m.data");
  write_file(folder.path() / "secret", std::string(8, '\0'));
  std::filesystem::create_symlink("../../secret", shown / "m.data");
  EXPECT_THROW(import_onnx(shown / "m.onnx"), Error);
}

// A model with most of the things that can be damaged.
std::string rich_model() {
  OnnxModel model;
  model.input("x", {"1", "2", "4", "4"}).output("y").ints("shape", {1, -1}).floats("b", {2}, {1, 2});
  model.floats("w", {2, 2, 3, 3}, std::vector<float>(36, 0.5f));
  set_ints(model.node("Conv", {"x", "w", "b"}, {"c"}), "pads", {1, 1, 1, 1});
  set_ints(model.node("MaxPool", {"c"}, {"p"}), "kernel_shape", {2, 2});
  model.node("Reshape", {"p", "shape"}, {"r"});
  set_int(model.node("Softmax", {"r"}, {"y"}), "axis", 1);
  return model.bytes();
}

// An import ends with a graph or with one line.
void expect_clean_end(const std::string& bytes) {
  try {
    import_onnx_bytes(bytes, {});
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_FALSE(text.empty());
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  }
}

TEST(Weights, DamagedFilesEndInOneLine) {
  const std::string good = rich_model();
  EXPECT_NO_THROW(import_onnx_bytes(good, {}));
  for (size_t cut = 0; cut < good.size(); cut += 7) expect_clean_end(good.substr(0, cut));
  Rng rng(1);
  for (int i = 0; i < 3000; i++) {
    std::string bad = good;
    for (i64 flips = rng.below(4); flips >= 0; flips--)
      bad[static_cast<size_t>(rng.below(static_cast<i64>(bad.size())))] ^= static_cast<char>(1 << rng.below(8));
    expect_clean_end(bad);
  }
}

}  // namespace
}  // namespace mcc
