#include "debias/train/recipe/recipe_check.h"

#include <algorithm>
#include <string>
#include <vector>

#include "debias/augment/view_pipeline.h"
#include "debias/core/registry.h"
#include "debias/data/dataset_registry.h"
#include "debias/train/recipe/recipe.h"

namespace debias {
namespace {

// Names and keys of a section by the options of its registry's entry; null where the recipe has none.
template <class Entry>
void check_keys(const Config* written, const char* kind, const std::vector<Entry>& registry, Mistakes& mistakes) {
  if (written == nullptr || written->is_null()) return;
  mistakes.collect([&] {
    const Config section = section_map(*written);
    const auto& entry = named_entry(registry, section, kind);
    std::vector<std::string> known = {"name"};
    for (const auto& spec : entry.options) known.push_back(spec.name);
    for (const auto& [name, value] : section.entries()) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      mistakes.collect(
          [&] { throw usage_error("{}{} '{}': unknown option '{}'{}", value.prefix(), kind, entry.name, name, suggestion(name, known)); });
    }
  });
}

void check_data(const Config& data, Mistakes& mistakes) {
  const Config* train = data.find("train");
  check_keys(train, "data set", dataset_registry(), mistakes);
  for (const char* split : {"valid", "test"}) {
    const Config* written = data.find(split);
    if (written == nullptr || written->is_null()) continue;
    Config section = section_map(*written);
    if (train != nullptr && section.find("name") == nullptr && train->find("name") != nullptr) section.set("name", *train->find("name"));
    check_keys(&section, "data set", dataset_registry(), mistakes);
  }
}

// Keys of a section that one table reads: the recipe's reader stops at the section's first mistake.
void check_keys_of_table(const Config& root, const char* key, const std::string& what, const std::vector<std::string>& known,
                         Mistakes& mistakes) {
  const Config* section = root.find(key);
  if (section == nullptr) return;
  for (const auto& [name, value] : section->entries()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    mistakes.collect([&, &name = name, &value = value] {
      throw usage_error("{}{}: unknown option '{}'{}", value.prefix(), what, name, suggestion(name, known));
    });
  }
}

}  // namespace

void check_sections(const Config& root, Mistakes& mistakes) {
  if (const Config* data = root.find("data")) check_data(*data, mistakes);
  check_keys_of_table(root, "train", "train", TrainOptions::table().names(), mistakes);
  if (const Config* views = root.find("views"); views != nullptr && views->is_map()) {
    mistakes.collect([&] { ViewPipeline::from_config(*views, {0.5}, {0.5}, views_keys()); });
  }
}

}  // namespace debias
