#include "debias/train/recipe/recipe_check.h"

#include <algorithm>
#include <string>
#include <vector>

#include "debias/augment/view_pipeline.h"
#include "debias/core/nearest_name.h"
#include "debias/train/recipe/recipe.h"

namespace debias {
namespace {

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
  check_keys_of_table(root, "train", "train", TrainOptions::table().names(), mistakes);
  if (const Config* views = root.find("views"); views != nullptr && views->is_map()) {
    mistakes.collect([&] { ViewPipeline::from_config(*views, {0.5}, {0.5}, views_keys()); });
  }
}

}  // namespace debias
