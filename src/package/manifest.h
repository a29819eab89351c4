// The artifact's texts: manifest.json for programs and model.h for C.
#pragma once
#include <map>

#include "package/contents.h"

namespace mcc {

constexpr int kManifestVersion = 1;

struct ManifestFacts {
  i64 code_bytes = 0;
  std::map<std::string, std::string> file_hashes;  // file name -> hash of its bytes
};
std::string manifest_json(const Contents& contents, const ManifestFacts& facts);
std::string model_header(const Contents& contents);
const char* main_file(const std::string& emit);  // "so" -> "model.so"

}  // namespace mcc
