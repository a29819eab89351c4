// JSON as text. Names of files and tensors may hold any bytes, JSON only UTF-8: what is none becomes U+FFFD.
#pragma once
#include <nlohmann/json.hpp>

#include "base/base.h"

namespace mcc {

template <typename Json>
std::string json_text(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// The text as it comes back from JSON.
inline std::string utf8(std::string_view text) {
  return nlohmann::json::parse(json_text(nlohmann::json(text))).get<std::string>();
}

}  // namespace mcc
