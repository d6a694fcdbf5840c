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

// Heads and classifiers of two runs.
void expect_close(const std::string& run, const std::string& other) {
  const auto a = SafetensorsFile::open(run + "/checkpoints/last.safetensors"),
             b = SafetensorsFile::open(other + "/checkpoints/last.safetensors");
  ASSERT_EQ(a.tensors().size(), b.tensors().size());
  for (const auto& entry : a.tensors()) {
    if (!entry.name.starts_with("head.") && !entry.name.starts_with("classifier.")) continue;
    if (entry.dtype != DType::kFloat32) continue;
    std::vector<float> of_a((entry.end - entry.begin) / sizeof(float)), of_b(of_a.size());
    a.read(entry, of_a.data());
    b.read(*b.find(entry.name), of_b.data());
    for (size_t i = 0; i < of_a.size(); ++i) ASSERT_NEAR(of_a[i], of_b[i], 2e-4) << entry.name << " " << i;
  }
}

TEST(FrozenFeatures, TheWeightsAreThoseOfARunThatEncodesEveryVisit) {
  const std::vector<std::vector<std::string>> settings = {{}, {"views.forward=joint", "train.drop_last=true"}, {"train.micro_batch=8"}};
  for (const auto& setting : settings) {
    const TemporaryFolder folder;
    train(input_for(frozen(folder / "once", setting)));
    EXPECT_NE(file_text(folder / "once/train.log").find("the features of each image are computed once"), std::string::npos);
    std::vector<std::string> each_visit = setting;
    each_visit.emplace_back("data.on_error=substitute");  // no image is unreadable
    train(input_for(frozen(folder / "each", each_visit)));
    EXPECT_EQ(metric_lines(folder / "once").size(), metric_lines(folder / "each").size());
    expect_close(folder / "once", folder / "each");
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
