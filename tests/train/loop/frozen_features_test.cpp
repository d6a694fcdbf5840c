// Training behind a frozen encoder and fixed views, whose features are computed once.
#include "debias/train/loop/frozen_features.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "debias/encoders/encoder.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/small_recipe.h"
#include "tests/train/training.h"

namespace debias {
namespace frozen_features_test {

// A head and a classifier behind a frozen encoder; 96 images in batches of 20, the last one smaller.
Config frozen(const std::string& output, const std::vector<std::string>& words = {}) {
  Config root = small_config(output);
  for (const char* word :
       {"encoder={name: resnet18, width: 8, freeze: all}", "views={steps: [{resize: {size: 16}}], count: 2}", "objective={name: supcon}",
        "classifier={name: linear, gradient: flow}", "train.batch_size=20", "train.drop_last=false"}) {
    root.assign(word);
  }
  for (const auto& word : words) root.assign(word);
  return root;
}

bool applies_to(const Config& root) {
  const TrainInput input = input_for(root);
  const Model model = make_model(input.recipe, 3);
  return has_fixed_features(input.recipe, *input.dataset, *model.encoder, Ranks::alone());
}

TEST(FrozenFeatures, TheWeightsAreThoseOfARunThatEncodesEveryVisit) {
  const TemporaryFolder folder;
  train(input_for(frozen(folder / "once")));
  EXPECT_NE(content(folder / "once/train.log").find("the features of each image are computed once"), std::string::npos);
  train(input_for(frozen(folder / "each", {"data.on_error=substitute"})));  // no image is unreadable
  const auto once = SafetensorsFile::open(folder / "once/checkpoints/last.safetensors"),
             each = SafetensorsFile::open(folder / "each/checkpoints/last.safetensors");
  ASSERT_EQ(once.tensors().size(), each.tensors().size());
  for (const auto& entry : once.tensors()) {
    if (!entry.name.starts_with("head.") && !entry.name.starts_with("classifier.")) continue;
    if (entry.dtype != DType::kFloat32) continue;
    std::vector<float> a((entry.end - entry.begin) / sizeof(float)), b(a.size());
    once.read(entry, a.data());
    each.read(*each.find(entry.name), b.data());
    for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 2e-4) << entry.name << " " << i;
  }
}

TEST(FrozenFeatures, StoppedAndResumedGiveTheSameBytes) {
  const TemporaryFolder folder;
  train(input_for(frozen(folder / "whole")));
  train_in_two(frozen(""), folder / "parts", 7);
  expect_same_run(folder / "whole", folder / "parts");
}

TEST(FrozenFeatures, ApplyWhereEveryVisitIsTheSame) {
  EXPECT_TRUE(applies_to(frozen("run")));
  for (const char* word : {"encoder={name: resnet18, width: 8, freeze: 3}", "encoder={name: resnet18, width: 8, freeze_epochs: 2}",
                           "views={preset: sim32, count: 2, random_resized_crop: {size: 16}}", "views.noise=0.1",
                           "data.on_error=substitute", "method={name: moco}"}) {
    EXPECT_FALSE(applies_to(frozen("run", {word}))) << word;
  }
}

}  // namespace frozen_features_test
}  // namespace debias
