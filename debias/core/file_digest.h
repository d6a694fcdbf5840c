// SHA-256 of a file.
#pragma once

#include <string>

namespace debias {

// Lower case, 64 characters, read piece by piece. Data errors as of InputFile.
std::string file_digest(const std::string& path);

}  // namespace debias
