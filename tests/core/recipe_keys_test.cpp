#include "debias/core/recipe_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "debias/core/recipe_file.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

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

// Recipes whose file names another as its base.
namespace recipe_file_test {

using testing::HasSubstr;

class RecipeFile : public testing::Test {
 protected:
  RecipeFile() {
    write("plain.yaml",
          "name: plain\ndata: {train: {name: glyphs}}\nobjective: {name: infonce, temperature: 0.5}\ntrain: {epochs: 3, batch_size: 8}\n"
          "expected: [{metric: test.acc1, value: 0.5}]\noutput: runs/plain\n");
  }

  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  Config read(const std::string& name) const {
    return read_recipe_file(folder_ / name, [&](const std::string& base) { return folder_ / (base + ".yaml"); });
  }
  std::string refusal(const std::string& text) const {
    write("r.yaml", text);
    return usage_error_of([&] { read("r.yaml"); });
  }

  TemporaryFolder folder_;
};

TEST_F(RecipeFile, AKeyReplacesASectionOrOneOptionOfItsBase) {
  write("other.yaml", "base: plain.yaml\nname: other\nobjective: {name: unbiased}\ntrain.epochs: 5\nschedule: {name: cosine}\n");
  EXPECT_EQ(read("other.yaml").to_json().dump(),
            R"({"name":"other","data":{"train":{"name":"glyphs"}},"objective":{"name":"unbiased"},"train":{"epochs":5,"batch_size":8},)"
            R"("output":"runs/plain","schedule":{"name":"cosine"}})");
}

TEST_F(RecipeFile, ABaseMayHaveABaseOrStandInTheFile) {
  write("second.yaml", "base: plain.yaml\nseed: 2\n");
  write("third.yaml", "base: {base: second, train.epochs: 7}\nname: third\n");
  const Config third = read("third.yaml");
  EXPECT_EQ(third.find("seed")->text() + third.find("name")->text() + third.find("train")->find("epochs")->text(), "2third7");
}

TEST_F(RecipeFile, ValuesKnowTheFileAndLineThatTheyAreFrom) {
  write("other.yaml", "base: plain.yaml\nname: other\ntrain.epochs: many\n");
  const Config recipe = read("other.yaml");
  EXPECT_EQ(recipe.find("train")->find("epochs")->where(), folder_ / "other.yaml:3");
  EXPECT_EQ(recipe.find("train")->find("batch_size")->where(), folder_ / "plain.yaml:4");
}

TEST_F(RecipeFile, BasesThatCannotBeAreRefused) {
  EXPECT_THAT(refusal("base: r.yaml\nname: mine\n"), HasSubstr("r.yaml:1: base: more than 8 recipes, one the base of another"));
  EXPECT_THAT(refusal("base: [a, b]\nname: mine\n"), HasSubstr("base: expected one word or number"));
  EXPECT_THAT(refusal("base: nowhere\nname: mine\n"), HasSubstr("no such readable file"));
  write("sweep.yaml", "base: plain.yaml\nseeds: [1, 2]\n");
  EXPECT_THAT(refusal("base: sweep.yaml\nname: mine\n"), HasSubstr("'sweep.yaml' is a sweep; give a recipe"));
  EXPECT_THAT(refusal("base: plain.yaml\nobjective.5.weight: 3\nname: mine\n"),
              HasSubstr("r.yaml:2: objective.5.weight: index 5 is beyond"));
}

TEST_F(RecipeFile, ASweepHasABaseAndNothingThatOnlyRecipesHave) {
  for (const char* text : {"base: a", "{base: a, output: x}", "{base: a, seeds: [1]}", "{base: a, variants: {}, nmae: x}"}) {
    EXPECT_TRUE(is_sweep(parse_yaml(text, ""))) << text;
  }
  for (const char* text : {"name: a", "{base: a, name: b}", "{base: a, output: x, seed: 3}", "[base]", "seeds: [1]"}) {
    EXPECT_FALSE(is_sweep(parse_yaml(text, ""))) << text;
  }
}

}  // namespace recipe_file_test
}  // namespace debias
