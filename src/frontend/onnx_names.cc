// UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. JSON (manifests, reports) can
// hold nothing else.
#include "frontend/onnx_names.h"

namespace mcc::frontend {
namespace {

using Byte = unsigned char;

// Bytes of the character at text[at]; 0 when there is none.
size_t character(const std::string& text, size_t at) {
  const auto byte = [&](size_t i) { return at + i < text.size() ? static_cast<Byte>(text[at + i]) : Byte{0}; };
  const auto follows = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const Byte first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4 || !follows(1)) return 0;
  if (first < 0xE0) return 2;
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) || !follows(2)) return 0;
  if (first < 0xF0) return 3;
  if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F) || !follows(3)) return 0;
  return 4;
}

}  // namespace

std::string valid_utf8(std::string text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = character(text, at);
    if (length == 0) text[at] = '?';
    at += length == 0 ? 1 : length;
  }
  return text;
}

}  // namespace mcc::frontend
