#include "debias/train/recipe/recipe_sections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "debias/core/npy.h"
#include "debias/core/recipe_file.h"
#include "debias/core/recipe_keys.h"
#include "debias/data/dataset_registry.h"
#include "debias/train/loop/run_parts.h"
#include "debias/train/loop/trainer.h"
#include "debias/train/recipe/recipe.h"
#include "tests/support/golden_folder.h"
#include "tests/support/small_corpus.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/small_recipe.h"

namespace debias {
namespace recipe_sections_test {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// What reading says against the recipe; empty where it is accepted.
std::string complaint(const Config& root) {
  try {
    read_recipe(root);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

const RecipeSection& section(const std::string& name) { return *std::ranges::find(recipe_sections(), name, &RecipeSection::name); }

TEST(RecipeSections, TheyAreTheKeysThatARecipeMayHave) {
  for (const auto& name : recipe_section_names()) {
    Config root = small_config("out");
    root.set(name, Config::map());
    EXPECT_THAT(complaint(root), Not(HasSubstr("unknown section"))) << name;
  }
  const Recipe recipe = read_recipe(small_config("out"));
  const Config resolved = resolve_recipe(recipe, *recipe.train_data.make_images());
  for (const auto& [key, value] : resolved.entries()) EXPECT_THAT(recipe_section_names(), Contains(key));
}

TEST(RecipeSections, OptionsOfTrainAreThoseOfAResolvedRecipe) {
  const Recipe recipe = read_recipe(small_config("out"));
  const Config resolved = resolve_recipe(recipe, *recipe.train_data.make_images());
  const auto& options = section("train").options;
  EXPECT_EQ(options.size(), resolved.find("train")->entries().size());
  for (const auto& option : options) EXPECT_NE(resolved.find("train")->find(option.name), nullptr) << option.name;
}

TEST(RecipeSections, EveryWordThatDataOffersIsAccepted) {
  int words = 0;
  for (const auto& option : section("data").options) {
    for (const auto& choice : option.choices) {
      Config root = changed(small_config("out"), {"data." + option.name + "=" + choice});
      EXPECT_EQ(complaint(root), "") << option.name << ": " << choice;
      ++words;
    }
  }
  EXPECT_EQ(words, 9);
}

}  // namespace recipe_sections_test

// The recipes in recipes/: each can be built. Their data need not be there: drawn shapes stand in for them.
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
