#include "debias/core/data_folder.h"

#include <algorithm>
#include <filesystem>

#include "debias/core/error.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

}  // namespace

void refuse_inside_data(const std::string& path, const std::vector<std::string>& data_roots, const std::string& what) {
  if (path.empty()) return;
  const fs::path target = fs::weakly_canonical(fs::absolute(path));
  for (const auto& root : data_roots) {
    std::error_code code;
    const fs::path folder = fs::weakly_canonical(fs::absolute(root), code);
    const auto mismatch = std::mismatch(folder.begin(), folder.end(), target.begin(), target.end());
    if (!code && mismatch.first == folder.end()) {
      throw usage_error("{} '{}' lies inside the data folder '{}'; nothing is written there: choose another {}", what, path, root, what);
    }
  }
}

}  // namespace debias
