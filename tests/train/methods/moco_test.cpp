// Momentum contrast: its first step written out, its copy and its queue, every objective that takes keys, and resuming.
#include "debias/train/methods/moco.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "debias/runtime/unit_rows.h"
#include "debias/train/methods/key_queue.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/method_parts.h"
#include "tests/train/small_recipe.h"

namespace debias {
namespace moco_test {

Config moco_config(const std::string& output, const std::string& method = "{name: moco, queue: 48, momentum: 0.9}") {
  return changed(small_config(output), {"method=" + method});
}

TEST(Moco, TheFirstStepIsAlgorithmOne) {
  MethodWithBatch made(changed(moco_config("x"), {"objective={name: infonce, temperature: 0.2}"}));
  const auto before = made.state();
  // The copy equals the network at first, so that its keys are the network's projections of the second view.
  at::Tensor q, k;
  {
    const at::NoGradGuard no_grad;
    const ModelOutput both = forward(made.parts.model, made.batch.images(), ForwardOptions{});
    q = unit_rows(both.projection).select(1, 0);
    k = unit_rows(both.projection).select(1, 1);
  }
  const at::Tensor logits = at::cat({(q * k).sum(1, true), q.mm(before.at("queue.rows").t())}, 1) / 0.2;
  const double expected = at::cross_entropy_loss(logits, at::zeros({16}, at::kLong)).item<double>();
  EXPECT_NEAR(made.parts.method->run(made.batch, 1).loss, expected, 1e-5);
}

TEST(Moco, TheCopyFollowsAndTheQueueTakesTheKeys) {
  MethodWithBatch made(moco_config("x"));
  const auto before = made.state();
  std::vector<at::Tensor> old;
  for (const auto& parameter : made.parts.model.encoder->parameters()) old.push_back(parameter.detach().clone());
  made.parts.method->run(made.batch, 1);
  const auto after = made.state();
  const at::Tensor first = made.parts.model.encoder->parameters().front().detach();
  EXPECT_GT((first - old.front()).abs().max().item<double>(), 1e-4);
  EXPECT_TRUE(at::allclose(after.at("momentum.encoder.conv1.weight"), old.front() * 0.9 + first * 0.1, 0, 1e-7));
  EXPECT_TRUE(after.at("queue.rows").slice(0, 16).equal(before.at("queue.rows").slice(0, 16)));
  EXPECT_FALSE(after.at("queue.rows").slice(0, 0, 16).equal(before.at("queue.rows").slice(0, 0, 16)));
  EXPECT_TRUE(after.at("queue.samples").slice(0, 0, 16).equal(at::tensor(made.batch.ids, at::kLong)));
  EXPECT_TRUE(after.at("queue.labels").slice(0, 0, 16).equal(at::tensor(made.batch.labels, at::kLong)));
  EXPECT_TRUE(before.at("queue.samples").eq(-1).all().item<bool>());
  EXPECT_EQ(after.at("queue.next").item<int64_t>(), 16);
  for (int64_t step = 2; step <= 4; ++step) made.parts.method->run(made.batch, step);
  EXPECT_EQ(made.state().at("queue.next").item<int64_t>(), 16);  // 64 keys into 48 rows
}

TEST(Moco, TheMomentumOfVersionThreeRisesToOneByHalfACosine) {
  const MocoOptions v3{.version = MocoVersion::kV3, .momentum = 0.9}.resolved();
  EXPECT_DOUBLE_EQ(momentum_at(v3, 0, 8), 0.9);
  EXPECT_DOUBLE_EQ(momentum_at(v3, 4, 8), 0.95);
  EXPECT_NEAR(momentum_at(v3, 2, 8), 1 - 0.1 * (1 + std::sqrt(0.5)) / 2, 1e-15);
  EXPECT_DOUBLE_EQ(momentum_at(v3, 8, 8), 1);
  const MocoOptions v2{.momentum = 0.9}.resolved();
  EXPECT_DOUBLE_EQ(momentum_at(v2, 4, 8), 0.9);
  const MocoOptions asked{.momentum = 0.9, .momentum_schedule = MomentumSchedule::kCosine}.resolved();
  EXPECT_DOUBLE_EQ(momentum_at(asked, 4, 8), 0.95);
}

TEST(Moco, TheCopyFollowsByTheMomentumOfTheStep) {
  MethodWithBatch made(moco_config("x", "{name: moco, version: v3, predictor: 12, momentum: 0.5}"));
  const at::Tensor old = made.parts.model.encoder->parameters().front().detach().clone();
  made.parts.method->run(made.batch, 10);  // of 3 epochs of 96 / 16 batches: half of the 18 steps are done
  const at::Tensor network = made.parts.model.encoder->parameters().front().detach();
  ASSERT_GT((network - old).abs().max().item<double>(), 1e-4);
  EXPECT_TRUE(at::allclose(made.state().at("momentum.encoder.conv1.weight"), old * 0.75 + network * 0.25, 0, 1e-7));
}

TEST(Moco, FalseNegativesAreCountedByLabel) {
  MethodWithBatch made(moco_config("x"));
  EXPECT_EQ(made.parts.method->run(made.batch, 1).diagnostics.metric_of_method("false_negative_share")->count,
            0);  // the queue's first rows are of no class
  const Diagnostics diagnostics = made.parts.method->run(made.batch, 2).diagnostics;
  int64_t pairs = 0, same = 0;
  for (size_t i = 0; i < 16; ++i) {
    for (size_t j = 0; j < 16; ++j) {
      if (made.batch.ids[i] == made.batch.ids[j]) continue;
      ++pairs;
      same += made.batch.labels[i] == made.batch.labels[j];
    }
  }
  EXPECT_EQ(diagnostics.metric_of_method("false_negative_share")->count, pairs);
  EXPECT_EQ(diagnostics.metric_of_method("false_negative_share")->sum, same);
}

TEST(Moco, VersionThreeComparesTheBatchInBothDirections) {
  MethodWithBatch made(
      changed(moco_config("x", "{name: moco, version: v3, predictor: 12}"), {"objective={name: infonce, temperature: 0.2}"}));
  ASSERT_NE(made.parts.model.predictor, nullptr);
  EXPECT_FALSE(made.state().contains("queue.rows"));
  at::Tensor q, k;
  {
    const at::NoGradGuard no_grad;
    q = unit_rows(forward(made.parts.model, made.batch.images(), ForwardOptions{}).projection);
    Model copy = made.parts.model;
    copy.predictor = nullptr;
    k = unit_rows(forward(copy, made.batch.images(), ForwardOptions{}).projection);
  }
  double expected = 0;
  for (int64_t d = 0; d < 2; ++d) {
    const at::Tensor logits = q.select(1, d).mm(k.select(1, 1 - d).t()) / 0.2;
    expected += at::cross_entropy_loss(logits, at::arange(16)).item<double>() / 2;
  }
  EXPECT_NEAR(made.parts.method->run(made.batch, 1).loss, expected, 1e-5);
}

TEST(Moco, EveryObjectiveWithKeysTrainsAndResumesByteForByte) {
  for (const auto& entry : objective_registry()) {
    if (!entry.takes_keys) continue;
    for (const char* method : {"{name: moco, queue: 64, symmetric: true, momentum: 0.9}", "{name: moco, version: v3, predictor: 12}"}) {
      const TemporaryFolder folder;
      Config root =
          changed(moco_config(folder.path() + "/whole", method), {"objective=" + entry.name, "train.epochs=2", "classifier=linear"});
      train(input_for(root));
      train_in_two(root, folder.path() + "/stopped", 7);
      expect_same_run(folder.path() + "/whole", folder.path() + "/stopped");
      const auto lines = metric_lines(folder.path() + "/whole");
      EXPECT_TRUE(std::isfinite(lines.back().at("train_loss").get<double>())) << entry.name;
      EXPECT_TRUE(lines.back().contains("false_negative_share")) << entry.name;
      EXPECT_TRUE(lines.back().contains("clamped_share")) << entry.name;
    }
  }
}

TEST(Moco, RegularisersReadTheQueries) {
  const TemporaryFolder folder;
  Config root =
      changed(moco_config(folder.path() + "/run"),
              {"data.train.correlation=0.9", "objective=[{name: infonce}, {name: fairkl, mode: mean, 'on': encoder}]", "train.epochs=1"});
  EXPECT_NO_THROW(train(input_for(root)));
}

TEST(Moco, WhatItCannotUseIsRefusedInOneLine) {
  expect_refused(moco_config("x", "{name: moco, queue: 50}"), "queue 50 is not a multiple of the 16 keys");
  expect_refused(moco_config("x", "{name: moco, queue: 48, symmetric: true}"), "not a multiple of the 32 keys");
  expect_refused(moco_config("x", "{name: moco, momentum: 1.5}"), "momentum");
  expect_refused(moco_config("x", "{name: mocko}"), "did you mean 'moco'");
  expect_refused(moco_config("x", "{name: moco, queue: 8}"), "choose 16");
  expect_refused(changed(moco_config("x"), {"objective={name: eps_supinfonce, form: d}"}), "form d");  // before a folder is touched
  expect_refused(changed(moco_config("x"), {"views.count=3"}), "views.count is 3");
  expect_refused(changed(moco_config("x"), {"train.drop_last=false"}), "drop_last");
  expect_refused(changed(moco_config("x"), {"train.micro_batch=8"}), "micro_batch");
  expect_refused(changed(moco_config("x"), {"data.train.correlation=0.9", "objective=biascon"}), "'biascon' compares rows of a batch");
}

TEST(KeyQueue, OfAnotherSizeIsADataError) {
  const TemporaryFolder folder;
  train(input_for(changed(moco_config(folder.path() + "/run"), {"train.epochs=1"})));
  KeyQueue queue(32, 4, 1, c10::Device(c10::kCPU));
  const auto file = SafetensorsFile::open(folder.path() + "/run/checkpoints/last.safetensors");
  const std::string message = data_error_of([&] { queue.load(file); });  // a queue of 48
  EXPECT_NE(message.find("queue.rows"), std::string::npos) << message;
}

}  // namespace moco_test
}  // namespace debias
