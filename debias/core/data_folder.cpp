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
    if (root.empty()) continue;
    std::error_code code;
    const fs::path folder = fs::weakly_canonical(fs::absolute(root), code);
    const fs::path::iterator left = std::mismatch(folder.begin(), folder.end(), target.begin(), target.end()).first;
    const bool is_inside = left == folder.end() || left->empty();  // behind the last slash of a folder that is not there
    if (!code && is_inside) {
      throw usage_error("{} '{}' lies inside the data folder '{}'; nothing is written there: choose another {}", what, path, root, what);
    }
  }
}

}  // namespace debias
