#include "debias/core/data_folder.h"

#include <algorithm>

#include "debias/core/error.h"
#include "debias/core/real_path.h"

namespace debias {
namespace {

// The first that `path` is in; null if there is none.
const std::string* folder_around(const std::string& path, const std::vector<std::string>& folders) {
  if (path.empty()) return nullptr;
  const auto found = std::ranges::find_if(folders, [&](const std::string& folder) { return !folder.empty() && lies_in(path, folder); });
  return found == folders.end() ? nullptr : &*found;
}

}  // namespace

void refuse_inside_data(const std::string& path, const std::vector<std::string>& data_roots, const std::string& what) {
  const std::string* root = folder_around(path, data_roots);
  if (root == nullptr) return;
  throw usage_error("{} '{}' is inside the data folder '{}'; nothing is written there: choose another {}", what, path, *root, what);
}

void refuse_run_inside_data(const std::string& folder, const std::vector<std::string>& data_roots) {
  const std::string* root = folder_around(folder, data_roots);
  if (root == nullptr) return;
  throw usage_error("run '{}' is inside the data folder '{}'; nothing is written there: move the run out of it", folder, *root);
}

}  // namespace debias
