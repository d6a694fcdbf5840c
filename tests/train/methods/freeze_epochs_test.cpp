// `encoder.freeze_epochs`: what is trained before and after, in which mode, by every optimizer and method, and across a stop.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "debias/encoders/state.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/method_parts.h"
#include "tests/train/small_recipe.h"

namespace debias {
namespace freeze_epochs_test {

constexpr const char* kFrozenFirst = "encoder={name: resnet18, width: 8, freeze_epochs: 2}";

Config frozen_first(const std::string& output, const std::vector<std::string>& words = {}) {
  return changed(changed(small_config(output), {kFrozenFirst}), words);
}

using Bytes = std::map<std::string, std::string>;

Bytes bytes_of(const std::string& checkpoint, const std::string& prefix) {
  Bytes all;
  for (const auto& [name, bytes] : tensors_of(checkpoint)) {
    if (name.starts_with(prefix)) all[name] = bytes;
  }
  return all;
}

// Of the run's weights before its first step.
Bytes first_bytes(const Config& root) {
  const Recipe recipe = read_recipe(root);
  const Model model = make_model(recipe, 3);
  Bytes all;
  for (const auto& [name, tensor] : named_state(*model.encoder, "encoder.")) {
    const at::Tensor flat = tensor.detach().contiguous();
    all[name] = std::string(static_cast<const char*>(flat.const_data_ptr()), flat.nbytes());
  }
  return all;
}

TEST(FreezeEpochs, TheEncoderKeepsWeightsAndStatisticsAndThenTrains) {
  const TemporaryFolder folder;
  const std::string run = folder / "run", last = run + "/checkpoints/last.safetensors",
                    previous = run + "/checkpoints/previous.safetensors";
  const Config root = frozen_first(run);
  train(input_for(root));
  const Bytes first = first_bytes(root), frozen = bytes_of(previous, "encoder."), trained = bytes_of(last, "encoder.");
  EXPECT_EQ(frozen, first);  // at the end of epoch 2
  ASSERT_EQ(trained.size(), first.size());
  for (const auto& [name, bytes] : trained) EXPECT_NE(bytes, first.at(name)) << name;
  EXPECT_NE(bytes_of(previous, "head."), bytes_of(last, "head."));
}

TEST(FreezeEpochs, TheFirstEpochsAreThoseOfAFrozenEncoder) {
  const TemporaryFolder folder;
  train(input_for(frozen_first(folder / "first")));
  train(input_for(frozen_first(folder / "all", {"encoder={name: resnet18, width: 8, freeze: all}"})));
  const auto first = metric_lines(folder / "first"), all = metric_lines(folder / "all");
  ASSERT_EQ(first.size(), all.size());
  int64_t compared = 0;
  for (size_t i = 0; i < first.size() && first[i].at("epoch").get<int>() <= 2; ++i, ++compared) EXPECT_EQ(first[i], all[i]) << "line " << i;
  EXPECT_GE(compared, 2);
  EXPECT_NE(first.back().at("train_loss"), all.back().at("train_loss"));
}

TEST(FreezeEpochs, FrozenStagesStayFrozenBehindThem) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  const Config root = frozen_first(run, {"encoder.freeze=layer2"});
  train(input_for(root));
  const Bytes first = first_bytes(root);
  for (const auto& [name, bytes] : bytes_of(run + "/checkpoints/last.safetensors", "encoder.")) {
    const bool trains = name.starts_with("encoder.layer3") || name.starts_with("encoder.layer4");
    EXPECT_EQ(bytes != first.at(name), trains) << name;
  }
}

TEST(FreezeEpochs, StoppedInEitherPartAndResumedGiveTheSameBytesByEveryOptimizer) {
  for (const char* options : {"name: sgd, nesterov: true", "name: adam", "name: adamw", "name: lars, trust_coefficient: 0.1"}) {
    expect_resumes(frozen_first("", {std::string("optimizer={") + options + ", learning_rate: 0.05, weight_decay: 0.01, clip_norm: 1}",
                                     "classifier={name: linear, gradient: flow}"}),
                   {9, 12, 15});  // 6 steps an epoch: frozen, at the very end of it, and training
  }
}

TEST(FreezeEpochs, AMomentumCopyIsHeldToo) {
  const TemporaryFolder folder;
  expect_resumes(folder, frozen_first("", {"method={name: moco, queue: 48, momentum: 0.5}"}), {9});
  const auto statistics = [&](const std::string& checkpoint) {
    return bytes_of(folder / "whole" + checkpoint, "momentum.encoder.bn1.running_mean");
  };
  const Bytes frozen = statistics("/checkpoints/previous.safetensors");
  ASSERT_EQ(frozen.size(), 1u);
  EXPECT_TRUE(std::ranges::all_of(frozen.begin()->second, [](char byte) { return byte == 0; }));  // as they began
  EXPECT_NE(statistics("/checkpoints/last.safetensors"), frozen);
}

TEST(FreezeEpochs, BatchesInPartsAndMethodsOfTwoNetworksTrain) {
  const TemporaryFolder folder;
  train(input_for(frozen_first(folder / "parts", {"train.micro_batch=8"})));
  EXPECT_EQ(bytes_of(folder / "parts/checkpoints/previous.safetensors", "encoder."), first_bytes(frozen_first("x")));
  train(input_for(frozen_first(folder / "cmc",
                               {"method={name: cmc, negatives: 8}", "views={preset: cmc_lab, count: 1, random_resized_crop: {size: 16}}",
                                "objective={name: infonce}", "head={name: linear, output_dim: 4}"})));
}

TEST(FreezeEpochs, HasALineInTheLog) {
  const TemporaryFolder folder;
  train(input_for(frozen_first(folder / "run")));
  EXPECT_THAT(file_text(folder / "run/train.log"),
              testing::HasSubstr("the encoder is frozen in epochs 1 to 2 and trained from epoch 3 on"));
}

TEST(FreezeEpochs, MistakesAreNamedBeforeARunHasAFolder) {
  expect_refused(frozen_first("x", {"train.epochs=2"}),
                 "encoder: freeze_epochs: 2 of 2 epochs: the encoder would never train; lower it, or write freeze: all");
  expect_refused(frozen_first("x", {"encoder.freeze=all"}),
                 "encoder: freeze: all leaves nothing to train after freeze_epochs: 2; leave out one of the two");
  expect_refused(frozen_first("x", {"head={name: none}"}),
                 "encoder: freeze_epochs: 2: there is neither a head nor a classifier to train in them; add one, or leave it out");
  expect_refused(frozen_first("x", {"encoder.freeze_epochs=-1"}), "out of range");
}

}  // namespace freeze_epochs_test
}  // namespace debias
