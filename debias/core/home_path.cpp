#include "debias/core/home_path.h"

#include <cstdlib>

#include "debias/core/error.h"

namespace debias {

std::string with_home(const std::string& path) {
  if (!path.starts_with('~')) return path;
  if (path.size() > 1 && path[1] != '/') {
    throw usage_error("'{}': the home folder of another user is not looked up; write the folder out, or ./{} for a file of that name", path,
                      path);
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') throw usage_error("'{}': HOME is not set, so there is no home folder; write the folder out", path);
  return home + path.substr(1);
}

}  // namespace debias
