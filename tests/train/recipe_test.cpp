#include "debias/train/recipe.h"

#include <gtest/gtest.h>

#include "debias/core/error.h"
#include "debias/data/dataset.h"
#include "debias/train/trainer.h"
#include "tests/train/small_recipe.h"

namespace debias {
namespace {

std::string refusal(const std::string& word) {
  Config root = small_config("out");
  root.assign(word);
  try {
    const Recipe recipe = read_recipe(root);
    resolve_recipe(recipe, *make_dataset(recipe.train_data));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage) << error.what();
    return error.what();
  }
  return "no error";
}

TEST(Recipe, ResolvingWritesEveryDefaultAndChangesNothingTheSecondTime) {
  const Recipe recipe = read_recipe(small_config("out"));
  const auto dataset = make_dataset(recipe.train_data);
  const Config once = resolve_recipe(recipe, *dataset);
  EXPECT_NE(once.find("train")->find("prefetch"), nullptr);
  EXPECT_EQ(once.find("objective")->items()[0].find("temperature")->text(), "0.5");
  const Recipe again = read_recipe(parse_yaml(once.to_yaml(), "config.yaml"));
  EXPECT_EQ(resolve_recipe(again, *make_dataset(again.train_data)).to_yaml(), once.to_yaml());
}

TEST(Recipe, EachMistakeNamesItsSection) {
  EXPECT_EQ(refusal("encodr=resnet18"), "command line: recipe: unknown section 'encodr'; did you mean 'encoder'?");
  EXPECT_EQ(refusal("train.epoch=3"), "command line: train: unknown option 'epoch'; did you mean 'epochs'?");
  EXPECT_EQ(refusal("train.batch_size=0"), "command line: train: batch_size: 0 is out of range; give a value in [1, 1048576]");
  EXPECT_EQ(refusal("objective.tau_pls=0.1").find("command line: objective 'debiased_negatives'"), 0u) << refusal("objective.tau_pls=0.1");
  EXPECT_EQ(refusal("objective.name=infonc"), "small.yaml:9: unknown objective 'infonc'; did you mean 'infonce'?");
  EXPECT_EQ(refusal("views.count=1"),
            "small.yaml:9: objective 'debiased_negatives' needs at least 2 views of each image, views.count is 1");
  EXPECT_EQ(refusal("train.device=gpu").find("small.yaml:12: train: device: unknown value 'gpu'"), 0u) << refusal("train.device=gpu");
  EXPECT_EQ(refusal("train.micro_batch=17"), "train: micro_batch: 17 is larger than batch_size 16");
  EXPECT_EQ(refusal("evaluate={select: test.knn_acc1}").find("command line: evaluate: select"), 0u);
  EXPECT_NE(refusal("data.train.corelation=1").find("did you mean 'correlation'?"), std::string::npos);
}

TEST(Recipe, MissingSectionsAreNamed) {
  for (const char* section : {"data", "encoder", "objective"}) {
    Config root = small_config("out");
    root.erase(section);
    try {
      read_recipe(root);
      FAIL() << section;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(std::string("no '") + section + "' section"), std::string::npos) << error.what();
    }
  }
}

TEST(Recipe, HeldOutImagesAreThoseOfTheTrainEntry) {
  Config root = small_config("out");
  root.assign("data.train.hold_out=20");
  root.assign("data.train.seed=5");
  root.assign("data.valid={name: glyphs, size: 16, train_count: 96, split: held_out}");
  const Recipe recipe = read_recipe(root);
  EXPECT_EQ(recipe.valid_data.find("hold_out")->text(), "20");
  EXPECT_EQ(recipe.valid_data.find("seed")->text(), "5");
  EXPECT_EQ(make_dataset(recipe.valid_data)->size(), 20);
  EXPECT_EQ(make_dataset(recipe.train_data)->size(), 76);
}

TEST(Recipe, ATermsWeightAndInputAreItsOwn) {
  Config root = small_config("out");
  root.assign("objective=[{name: infonce, weight: 0.5, 'on': encoder}, debiased_positives]");
  const Recipe recipe = read_recipe(root);
  ASSERT_EQ(recipe.objective.size(), 2u);
  EXPECT_EQ(recipe.objective[0].options.weight(), 0.5);
  EXPECT_EQ(recipe.objective[0].options.on(), TermInput::kEncoder);
  EXPECT_EQ(recipe.objective[1].name, "debiased_positives");
}

}  // namespace
}  // namespace debias
