// Momentum contrast: its first step written out, its copy and its queue, every objective that takes keys, and resuming.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "debias/runtime/unit_rows.h"
#include "debias/train/methods/moco.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/method_parts.h"
#include "tests/train/rank_training.h"
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
  const at::Tensor both = unit_rows(made.output().projection), q = both.select(1, 0), k = both.select(1, 1);
  const at::Tensor logits = at::cat({(q * k).sum(1, true), q.mm(before.at("queue.rows").t())}, 1) / 0.2;
  const double expected = at::cross_entropy_loss(logits, at::zeros({16}, at::kLong)).item<double>();
  EXPECT_NEAR(made.run().loss, expected, 1e-5);
}

TEST(Moco, TheCopyFollowsAndTheQueueTakesTheKeys) {
  MethodWithBatch made(moco_config("x"));
  const auto before = made.state();
  std::vector<at::Tensor> old;
  for (const auto& parameter : made.parts.model.encoder->parameters()) old.push_back(parameter.detach().clone());
  made.run();
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
  for (int64_t step = 2; step <= 4; ++step) made.run(step);
  EXPECT_EQ(made.state().at("queue.next").item<int64_t>(), 16);  // 64 keys into 48 rows
}

TEST(Moco, TheMomentumOfVersionThreeRisesToOneByHalfACosine) {
  const MocoOptions v3 = MocoOptions{.version = MocoVersion::kV3, .momentum = 0.9}.resolved();
  EXPECT_DOUBLE_EQ(momentum_at(v3, 0, 8), 0.9);
  EXPECT_DOUBLE_EQ(momentum_at(v3, 4, 8), 0.95);
  EXPECT_NEAR(momentum_at(v3, 2, 8), 1 - 0.1 * (1 + std::sqrt(0.5)) / 2, 1e-15);
  EXPECT_DOUBLE_EQ(momentum_at(v3, 8, 8), 1);
  const MocoOptions v2 = MocoOptions{.momentum = 0.9}.resolved();
  EXPECT_DOUBLE_EQ(momentum_at(v2, 4, 8), 0.9);
  const MocoOptions asked = MocoOptions{.momentum = 0.9, .momentum_schedule = MomentumSchedule::kCosine}.resolved();
  EXPECT_DOUBLE_EQ(momentum_at(asked, 4, 8), 0.95);
}

TEST(Moco, TheCopyFollowsByTheMomentumOfTheStep) {
  MethodWithBatch made(moco_config("x", "{name: moco, version: v3, predictor: 12, momentum: 0.5}"));
  const at::Tensor old = made.parts.model.encoder->parameters().front().detach().clone();
  made.run(10);  // of 3 epochs of 96 / 16 batches: half of the 18 steps are done
  const at::Tensor network = made.parts.model.encoder->parameters().front().detach();
  ASSERT_GT((network - old).abs().max().item<double>(), 1e-4);
  EXPECT_TRUE(at::allclose(made.state().at("momentum.encoder.conv1.weight"), old * 0.75 + network * 0.25, 0, 1e-7));
}

TEST(Moco, FalseNegativesAreCountedByLabel) {
  MethodWithBatch made(moco_config("x"));
  EXPECT_EQ(made.run().diagnostics.metric_of_method("false_negative_share")->count,
            0);  // the queue's first rows are of no class
  const Diagnostics diagnostics = made.run(2).diagnostics;
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
  const at::Tensor q = unit_rows(made.output().projection);
  Model copy = made.parts.model;
  copy.predictor = nullptr;
  const at::Tensor k = unit_rows(forward(copy, made.batch.images(), ForwardOptions{}).projection);
  double expected = 0;
  for (int64_t d = 0; d < 2; ++d) {
    const at::Tensor logits = q.select(1, d).mm(k.select(1, 1 - d).t()) / 0.2;
    expected += at::cross_entropy_loss(logits, at::arange(16)).item<double>() / 2;
  }
  EXPECT_NEAR(made.run().loss, expected, 1e-5);
}

TEST(Moco, EveryObjectiveWithKeysTrainsAndResumesByteForByte) {
  for (const auto& entry : objective_registry()) {
    if (!entry.takes_keys) continue;
    for (const char* method : {"{name: moco, queue: 64, symmetric: true, momentum: 0.9}", "{name: moco, version: v3, predictor: 12}"}) {
      const TemporaryFolder folder;
      expect_resumes(folder, changed(moco_config("", method), {"objective=" + entry.name, "train.epochs=2", "classifier=linear"}), {7});
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
  EXPECT_THAT(message, testing::HasSubstr("queue.rows"));
}

// ShuffleBN of momentum contrast: the order of its groups, what they are normalised with, and resuming.

Config shuffled(const std::string& output, int64_t groups, const std::string& more = "queue: 48") {
  return moco_config(output, fmt::format("{{name: moco, {}, momentum: 0.9, shuffle_bn: {}}}", more, groups));
}

TEST(ShuffledGroups, ThereAndBackIsTheIdentity) {
  for (const auto& [rows, groups] : {std::pair{1, 1}, {6, 1}, {6, 3}, {24, 8}, {7, 7}}) {
    const ShuffledGroups shuffle(rows, groups, 5, 9);
    const at::Tensor values = at::arange(2 * rows, at::kFloat).view({rows, 2});
    std::vector<at::Tensor> parts;
    std::set<int64_t> seen;
    for (const at::Tensor& group : shuffle.groups()) {
      EXPECT_EQ(group.size(0), rows / groups);
      for (int64_t i = 0; i < group.size(0); ++i) seen.insert(group[i].item<int64_t>());
      parts.push_back(values.index_select(0, group));
    }
    EXPECT_EQ(static_cast<int64_t>(parts.size()), groups);
    EXPECT_EQ(static_cast<int64_t>(seen.size()), rows);
    EXPECT_TRUE(shuffle.in_order(parts).equal(values)) << rows << " in " << groups;
  }
}

TEST(ShuffledGroups, FollowFromSeedAndStep) {
  const auto order = [](uint64_t seed, uint64_t step) { return at::cat(ShuffledGroups(32, 4, seed, step).groups()); };
  EXPECT_TRUE(order(1, 2).equal(order(1, 2)));
  EXPECT_FALSE(order(1, 2).equal(order(1, 3)));
  EXPECT_FALSE(order(1, 2).equal(order(2, 2)));
  EXPECT_FALSE(order(1, 2).equal(at::arange(32)));
}

// The mean and variance that an untrained head's first layer sees, by hand: the keys of a group follow from its images alone.
TEST(ShuffleBn, EachGroupIsNormalisedByItself) {
  for (const bool symmetric : {false, true}) {
    MethodWithBatch made(shuffled("x", 4, fmt::format("queue: 64, symmetric: {}", symmetric)));
    const ShuffledGroups shuffle(16, 4, made.input.recipe.seed, 1);
    at::Tensor expected = at::empty({16, 4}), whole;
    {
      const at::NoGradGuard no_grad;  // the copy equals the network at first
      const at::Tensor second = made.batch.images().select(0, 1);
      const Model& model = made.parts.model;
      whole = unit_rows(forward(model, second.unsqueeze(0), ForwardOptions{}).projection).select(1, 0);
      for (const at::Tensor& group : shuffle.groups()) {
        const ModelOutput own = forward(model, second.index_select(0, group).unsqueeze(0), ForwardOptions{});
        expected.index_copy_(0, group, unit_rows(own.projection).select(1, 0));
      }
    }
    made.run();
    const at::Tensor keys = made.state().at("queue.rows").slice(0, 0, 16);
    EXPECT_TRUE(at::allclose(keys, expected, 0, 1e-6)) << (keys - expected).abs().max();
    EXPECT_GT((keys - whole).abs().max().item<double>(), 1e-2);
    EXPECT_TRUE(made.state().at("queue.samples").slice(0, 0, 16).equal(at::tensor(made.batch.ids, at::kLong)));
  }
}

// One layer of batch normalisation, its statistics over the rows of a group written out.
TEST(ShuffleBn, StatisticsAreThoseOfTheGroup) {
  MethodWithBatch made(shuffled("x", 2));
  const ShuffledGroups shuffle(16, 2, made.input.recipe.seed, 1);
  const at::NoGradGuard no_grad;
  const auto hidden = made.parts.model.head->named_parameters();
  const at::Tensor w1 = hidden["fc1.weight"], gamma = hidden["bn1.weight"], beta = hidden["bn1.bias"], w2 = hidden["fc2.weight"],
                   b2 = hidden["fc2.bias"];
  at::Tensor expected = at::empty({16, 4});
  for (const at::Tensor& group : shuffle.groups()) {
    const at::Tensor images = made.batch.images().select(0, 1).index_select(0, group);
    const at::Tensor x = made.parts.model.encoder->forward(images.contiguous(at::MemoryFormat::ChannelsLast)).mm(w1.t());
    const at::Tensor mean = x.sum(0) / 8, variance = (x - mean).square().sum(0) / 8;
    const at::Tensor y = ((x - mean) / (variance + 1e-5).sqrt() * gamma + beta).clamp_min(0).mm(w2.t()) + b2;
    expected.index_copy_(0, group, y / y.norm(2, 1, true));
  }
  {
    const at::AutoGradMode with_gradient(true);
    made.run();
  }
  EXPECT_TRUE(at::allclose(made.state().at("queue.rows").slice(0, 0, 16), expected, 0, 1e-5));
}

TEST(ShuffleBn, OneGroupIsTheBatchAsItIs) {
  MethodWithBatch one(shuffled("x", 1)), unshuffled(moco_config("x"));
  for (int64_t step = 1; step <= 2; ++step) {
    EXPECT_EQ(one.run(step).loss, unshuffled.run(step).loss);
  }
  EXPECT_TRUE(one.state().at("queue.rows").equal(unshuffled.state().at("queue.rows")));
}

TEST(ShuffleBn, ResumesByteForByte) {
  for (const char* more : {"queue: 64, symmetric: true", "version: v3, predictor: 12"}) {
    const TemporaryFolder folder;
    expect_resumes(folder, changed(shuffled("", 4, more), {"train.epochs=2"}), {7});
    EXPECT_TRUE(std::isfinite(metric_lines(folder.path() + "/whole").back().at("train_loss").get<double>()));
  }
}

TEST(ShuffleBn, GroupsThatDoNotFitAreRefused) {
  expect_refused(shuffled("x", 3), "shuffle_bn 3 does not cut a batch of 16 into groups of one size and at least 2 images; choose 2, or 1");
  expect_refused(shuffled("x", 16), "choose 8, or 1");
  expect_refused(shuffled("x", 0), "shuffle_bn");
  expect_refused(changed(shuffled("x", 2, "queue: 39"), {"train.batch_size=13"}), "choose 1");
}

TEST(ShuffleBn, SeveralRanksAreRefused) {
  const TemporaryFolder folder;
  const Config root = shuffled(folder.path() + "/run", 4);
  const auto texts = heard(2, [&](const Ranks& ranks) {
    TrainInput input = input_for(root);
    input.ranks = &ranks;
    train(input);
  });
  for (const auto& text : texts) EXPECT_NE(text.find("shuffle_bn 4: a group needs images of all 2 processes"), std::string::npos) << text;
  EXPECT_EQ(folder.entries(), 0u);
}

}  // namespace moco_test
}  // namespace debias
