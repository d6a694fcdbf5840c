#include "debias/core/data_folder.h"

#include "debias/core/error.h"
#include "debias/core/real_path.h"

namespace debias {

void refuse_inside_data(const std::string& path, const std::vector<std::string>& data_roots, const std::string& what) {
  if (path.empty()) return;
  for (const auto& root : data_roots) {
    if (!root.empty() && lies_in(path, root)) {
      throw usage_error("{} '{}' lies inside the data folder '{}'; nothing is written there: choose another {}", what, path, root, what);
    }
  }
}

}  // namespace debias
