#include "debias/data/data_roots.h"

#include "debias/text/corpus_text.h"

namespace debias {
namespace {

bool is_corpus(const Config& section) {
  const Config* name = section.find("name");
  return name != nullptr && name->is_scalar() && name->text() == "sentences";
}

}  // namespace

std::vector<std::string> roots_of(const Config& section) {
  std::vector<std::string> roots;
  for (const char* key : {"root", "frost"}) {
    const Config* root = section.find(key);
    if (root == nullptr || !root->is_scalar() || root->text().empty()) continue;
    const std::vector<std::string> folders = is_corpus(section) ? text_folders(root->text()) : std::vector{root->text()};
    roots.insert(roots.end(), folders.begin(), folders.end());
  }
  return roots;
}

}  // namespace debias
