#include "debias/data/data_roots.h"

#include <algorithm>

#include "debias/data/dataset_registry.h"
#include "debias/text/sentence_store.h"

namespace debias {
namespace {

struct NamedFolder {
  std::string path;
  bool is_corpus = false;

  bool operator==(const NamedFolder&) const = default;
};

bool is_corpus(const Config& section) {
  const Config* name = section.find("name");
  const DatasetEntry* entry = name != nullptr && name->is_scalar() ? find_dataset(name->text()) : nullptr;
  return entry != nullptr && entry->samples == SampleKind::kSentences;
}

// Each once.
std::vector<NamedFolder> folders_named_in(const std::vector<Config>& sections) {
  std::vector<NamedFolder> folders;
  for (const auto& section : sections) {
    for (const char* key : {"root", "frost", "scenes"}) {
      const Config* root = section.find(key);
      if (root == nullptr || !root->is_scalar() || root->text().empty()) continue;
      const NamedFolder folder = {root->text(), is_corpus(section)};
      if (std::find(folders.begin(), folders.end(), folder) == folders.end()) folders.push_back(folder);
    }
  }
  return folders;
}

}  // namespace

std::vector<std::string> roots_of(const Config& section) { return roots_of(std::vector<Config>{section}); }

std::vector<std::string> roots_of(const std::vector<Config>& sections) {
  std::vector<std::string> roots;
  for (const auto& folder : folders_named_in(sections)) {
    const std::vector<std::string> all = folder.is_corpus ? text_folders(folder.path) : std::vector{folder.path};
    roots.insert(roots.end(), all.begin(), all.end());
  }
  return roots;
}

}  // namespace debias
