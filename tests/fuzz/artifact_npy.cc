// The other reader of NumPy arrays: the C one that stand-alone programs hold. The first byte chooses which tensor the
// program wants; the rest is the file. What is read must survive being written and read again.
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/file.h"
#include "fuzz/fuzz.h"
#include "runtime/artifact/main.h"

namespace {

std::vector<char> read_tensor(const std::filesystem::path& file, const mcc_tensor_info& info) {
  std::vector<char> data(static_cast<size_t>(info.bytes));
  const char* wrong = mcc_read_npy(file.c_str(), &info, data.data());
  if (wrong) throw mcc::Error(wrong);
  return data;
}

void read(std::string_view bytes) {
  if (bytes.empty()) return;
  static const mcc::TempDir folder;
  const std::filesystem::path file = folder.path() / "in.npy";
  mcc::write_file(file, bytes.substr(1));
  constexpr std::int64_t kShape[] = {2, 3};
  constexpr struct {
    std::int32_t dtype;
    std::int64_t size;
  } kTypes[] = {{MCC_F32, 4}, {MCC_BF16, 2}, {MCC_I64, 8}, {MCC_BOOL, 1}};
  const auto type = kTypes[static_cast<unsigned char>(bytes[0]) % std::size(kTypes)];
  const mcc_tensor_info info{"out", type.dtype, 2, kShape, 6 * type.size, 0};
  const std::vector<char> data = read_tensor(file, info);
  mcc_model model{};
  model.outputs = &info, model.n_outputs = 1;
  MCC_CHECK(mcc_write_npy(folder.path().c_str(), &model, 0, data.data()) == nullptr);
  MCC_CHECK(read_back([&] { return read_tensor(folder.path() / "out.npy", info); }) == data);
}

}  // namespace

MCC_FUZZ_TARGET(read)
