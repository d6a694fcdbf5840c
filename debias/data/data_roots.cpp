#include "debias/data/data_roots.h"

namespace debias {

std::vector<std::string> roots_of(const Config& section) {
  std::vector<std::string> roots;
  for (const char* key : {"root", "frost"}) {
    const Config* root = section.find(key);
    if (root != nullptr && root->is_scalar() && !root->text().empty()) roots.push_back(root->text());
  }
  return roots;
}

}  // namespace debias
