// Names from a file may hold any bytes; behind the importer they are text.
#pragma once
#include <string>

namespace mcc::frontend {

std::string valid_utf8(std::string text);  // each byte that is no part of a character becomes ?

}  // namespace mcc::frontend
