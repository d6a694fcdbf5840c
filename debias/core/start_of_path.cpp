#include "debias/core/start_of_path.h"

#include <filesystem>
#include <system_error>

namespace debias {

std::string start_of(const std::string& path) {
  if (path.starts_with('/')) return "";
  std::error_code failure;
  const std::string folder = std::filesystem::current_path(failure).string();
  return failure ? " in the current folder" : " in " + folder;
}

}  // namespace debias
