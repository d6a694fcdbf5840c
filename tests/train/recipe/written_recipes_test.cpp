// The recipes in recipes/: each can be built. Their data need not be there: drawn shapes stand in for them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "debias/core/npy.h"
#include "debias/core/recipe_file.h"
#include "debias/core/recipe_keys.h"
#include "debias/data/dataset_registry.h"
#include "debias/train/loop/run_parts.h"
#include "debias/train/recipe/recipe.h"
#include "tests/support/golden_folder.h"
#include "tests/support/small_corpus.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace written_recipes_test {

namespace fs = std::filesystem;

std::vector<std::string> written_recipes() {
  std::vector<std::string> paths;
  for (const auto& entry : fs::recursive_directory_iterator(golden_folder("../../recipes"))) {
    if (entry.path().extension() == ".yaml") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// What another run writes, for a recipe that goes on from it: features of 1024 images.
void stand_in_for_bias_features(Config& root, const std::string& path) {
  Config& objective = *root.find("objective");
  if (objective.is_map()) objective = Config::sequence({objective});
  if (!objective.is_sequence()) return;
  const std::vector<float> rows(1024 * 2, 1.0f);
  write_npy(path, DType::kFloat32, {1024, 2}, rows.data());
  for (Config& term : objective.items()) {
    if (term.find("bias_features") != nullptr) term.set("bias_features", Config::string(path));
  }
}

void stand_in_for_data(Config& root, const ChosenData& train, const std::string& folder) {
  if (train.entry->samples != SampleKind::kSentences) return root.assign("data={train: {name: glyphs, size: 32, train_count: 1024}}");
  write_small_corpus(folder);
  root.assign("data={train: " + small_corpus_section(folder) + "}");
  root.assign("train.batch_size=20");
}

TEST(WrittenRecipes, CanBeBuilt) {
  const TemporaryFolder folder;
  const auto paths = written_recipes();
  ASSERT_GE(paths.size(), 10u);
  for (const auto& path : paths) {
    Config root = read_recipe_file(path, [](const std::string& name) { return name; });
    if (is_sweep(root)) continue;         // tests/runs/written_sweeps_test.cpp, tests/apps/agent_sweeps_test.cpp
    if (is_agent_recipe(root)) continue;  // tests/agent/agent_recipe_test.cpp
    const Recipe written = read_recipe(root);
    stand_in_for_data(root, written.train_data, folder.path());
    root.erase("evaluate");
    stand_in_for_bias_features(root, folder / "bias.npy");
    Recipe recipe = read_recipe(root);
    recipe.train.workers = 0;
    const std::shared_ptr<const SampleTable> dataset = recipe.train_data.make();
    EXPECT_NO_THROW(resolve_recipe(recipe, *dataset)) << path;
    EXPECT_NO_THROW(make_run_parts(recipe, dataset)) << path;
  }
}

}  // namespace written_recipes_test
}  // namespace debias
