#include "debias/core/real_path.h"

#include <algorithm>
#include <filesystem>

namespace debias {

namespace fs = std::filesystem;

std::string real_path(const std::string& path) {
  std::error_code failure;
  const fs::path whole = fs::absolute(path, failure);
  if (failure) return path;
  fs::path real = fs::weakly_canonical(whole, failure);
  if (failure) real = whole.lexically_normal();  // links in a circle, or a folder that may not be looked into
  if (!real.has_filename() && real.has_relative_path()) real = real.parent_path();  // "y/" of which nothing is there keeps its slash
  return real.string();
}

bool lies_in(const std::string& path, const std::string& folder) {
  const fs::path inner = real_path(path), outer = real_path(folder);
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

}  // namespace debias
