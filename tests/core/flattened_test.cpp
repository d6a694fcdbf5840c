#include "debias/core/recipe_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace debias {
namespace flattened_test {

TEST(Flattened, RecipesAreTheirLeaves) {
  const Config config = parse_yaml("a: {b: 1, c: [2, x]}\nd: [{e: null}, {f: true}]\ng: []\n", "recipe");
  using Leaf = std::pair<std::string, std::string>;
  EXPECT_THAT(flattened(config),
              testing::ElementsAre(Leaf("a.b", "1"), Leaf("a.c", "[2, x]"), Leaf("d.0.e", "null"), Leaf("d.1.f", "true"), Leaf("g", "[]")));
}

TEST(Flattened, StepsWithoutOptionsKeepTheirPlaces) {
  using Leaf = std::pair<std::string, std::string>;
  EXPECT_THAT(flattened(parse_yaml("steps: [{lab: {}}, {crop: {size: 8}}]\nknn: {}\n", "recipe")),
              testing::ElementsAre(Leaf("steps.0.lab", "{}"), Leaf("steps.1.crop.size", "8")));
  EXPECT_THAT(flattened(parse_yaml("steps: [{crop: {size: 8}}, {lab: {}}]\nknn: {}\n", "recipe")),
              testing::ElementsAre(Leaf("steps.0.crop.size", "8"), Leaf("steps.1.lab", "{}")));
}

}  // namespace flattened_test
}  // namespace debias
