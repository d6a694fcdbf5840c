#include "debias/train/recipe/recipe_sections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <exception>

#include "debias/data/dataset_registry.h"
#include "debias/train/loop/trainer.h"
#include "debias/train/recipe/recipe.h"
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
}  // namespace debias
