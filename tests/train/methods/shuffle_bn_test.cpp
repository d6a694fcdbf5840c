// ShuffleBN of momentum contrast: the order of its groups, what they are normalised with, and resuming.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "debias/runtime/unit_rows.h"
#include "debias/train/methods/shuffled_groups.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/method_parts.h"
#include "tests/train/rank_training.h"
#include "tests/train/small_recipe.h"

namespace debias {
namespace shuffle_bn_test {

Config shuffled(const std::string& output, int64_t groups, const std::string& more = "queue: 48") {
  return changed(small_config(output), {fmt::format("method={{name: moco, {}, momentum: 0.9, shuffle_bn: {}}}", more, groups)});
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
    made.parts.method->run(made.batch, 1);
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
    made.parts.method->run(made.batch, 1);
  }
  EXPECT_TRUE(at::allclose(made.state().at("queue.rows").slice(0, 0, 16), expected, 0, 1e-5));
}

TEST(ShuffleBn, OneGroupIsTheBatchAsItIs) {
  MethodWithBatch one(shuffled("x", 1));
  Config root = changed(small_config("x"), {"method={name: moco, queue: 48, momentum: 0.9}"});
  MethodWithBatch unshuffled(root);
  for (int64_t step = 1; step <= 2; ++step) {
    EXPECT_EQ(one.parts.method->run(one.batch, step).loss, unshuffled.parts.method->run(unshuffled.batch, step).loss);
  }
  EXPECT_TRUE(one.state().at("queue.rows").equal(unshuffled.state().at("queue.rows")));
}

TEST(ShuffleBn, ResumesByteForByte) {
  for (const char* more : {"queue: 64, symmetric: true", "version: v3, predictor: 12"}) {
    const TemporaryFolder folder;
    Config root = changed(shuffled(folder.path() + "/whole", 4, more), {"train.epochs=2"});
    train(input_for(root));
    train_in_two(root, folder.path() + "/stopped", 7);
    expect_same_run(folder.path() + "/whole", folder.path() + "/stopped");
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

}  // namespace shuffle_bn_test
}  // namespace debias
