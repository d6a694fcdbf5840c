// Describes where a relative path of a message starts.
#pragma once

#include <string>

namespace debias {

// " in /home/me/project" for a relative path, the current folder; "" for an absolute one.
std::string start_of(const std::string& path);

}  // namespace debias
