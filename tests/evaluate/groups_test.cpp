// The protocol `groups` on a toy whose predictions are known.
#include "debias/evaluate/groups.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/evaluate/toy.h"

namespace debias {
namespace {

// kNN is right on the toy, so relabelling an image makes it wrong. Bias value b of image i: i % 3 for the first 20, then (i + 1) % 3.
std::shared_ptr<ToyDataset> biased(const std::string& split, const std::string& name = "glyphs") {
  const auto dataset = std::make_shared<ToyDataset>(30, 3, split);
  for (int64_t i = 0; i < 30; ++i) dataset->set_bias(i, i < 20 ? i % 3 : (i + 1) % 3);
  dataset->editable_info().name = name;
  dataset->editable_info().bias_names = {"red", "green", "blue"};
  return dataset;
}

EvaluationInput biased_input() {
  EvaluationInput input = toy_input();
  const auto test = biased("test");
  test->set_label(0, 1);   // class 0, bias 0 -> label 1: conflicting and wrong
  test->set_label(29, 0);  // class 2, bias 0 -> label 0: aligned and wrong
  input.test = test;
  return input;
}

TEST(Groups, JudgesKnnWithoutAClassifier) {
  const EvaluationResult result = judged(biased_input(), "groups");
  EXPECT_DOUBLE_EQ(result.metrics.at("test.acc1"), 28.0 / 30);
  EXPECT_DOUBLE_EQ(result.metrics.at("test.aligned_acc"), 19.0 / 20);
  EXPECT_DOUBLE_EQ(result.metrics.at("test.conflicting_acc"), 9.0 / 10);
  EXPECT_DOUBLE_EQ(result.metrics.at("test.worst_group_acc"), 0);  // label 1, bias 0: one image
  EXPECT_EQ(result.details["options"]["predictions"], "knn");
  EXPECT_EQ(result.details["groups"]["test"]["count"][1][0], 1);
  EXPECT_EQ(result.details["groups"]["test"]["accuracy"][1][0], 0.0);
  EXPECT_TRUE(result.details["groups"]["test"]["accuracy"][1][1].is_number());
  EXPECT_EQ(result.details["groups"]["test"]["biases"][2], "blue");
  const auto& [low, high] = result.intervals.at("test.acc1");
  EXPECT_LE(low, 28.0 / 30);
  EXPECT_GE(high, 28.0 / 30);
  EXPECT_EQ(result.details["intervals"]["test.acc1"][0], low);
}

TEST(Groups, SaysWhichGroupsHaveNoMembersAndLeavesThemNull) {
  const EvaluationResult result = judged(biased_input(), "groups");
  EXPECT_TRUE(result.details["groups"]["test"]["accuracy"][0][2].is_null());
  ASSERT_FALSE(result.notes.empty());
  EXPECT_EQ(result.notes.back(),
            "groups: test: 2 of 9 groups have no members (class0 x blue, class2 x green): left out of worst_group_acc and unbiased_acc");
  EXPECT_EQ(result.details["notes"].size(), result.notes.size());
}

TEST(Groups, AnUndefinedMetricIsNullAndNamed) {
  EvaluationInput input = toy_input();
  const auto test = biased("test");
  for (int64_t i = 0; i < 30; ++i) test->set_bias(i, (i + 1) % 3);
  input.test = test;
  const EvaluationResult result = judged(input, "groups");
  EXPECT_FALSE(result.metrics.contains("test.aligned_acc"));
  EXPECT_TRUE(result.details["metrics"]["test.aligned_acc"].is_null());
  EXPECT_EQ(result.notes.front(), "groups: test.aligned_acc is undefined: no groups to compute it from");
}

TEST(Groups, TakesTheClassifierWhereTheRunHasOneOrWhatIsAskedFor) {
  EvaluationInput input = biased_input();
  EXPECT_EQ(error_of(ErrorKind::kUsage, [&] { judged(input, "groups", "{predictions: classifier}"); }),
            "groups: predictions: the run has no classifier; give knn or linear, or train with a `classifier`");
  input.classifier = [](const at::Tensor& features) {  // always class 1
    const at::Tensor logits = at::zeros({features.size(0), 3});
    logits.select(1, 1).fill_(1);
    return logits;
  };
  const EvaluationResult own = judged(input, "groups");
  EXPECT_EQ(own.details["options"]["predictions"], "classifier");
  EXPECT_DOUBLE_EQ(own.metrics.at("test.acc1"), 11.0 / 30);
  EXPECT_DOUBLE_EQ(judged(input, "groups", "{predictions: knn}").metrics.at("test.acc1"), 28.0 / 30);
}

TEST(Groups, JudgesTheProbeWithTheOptionsOfTheSameCallAndRunsItOnce) {
  const EvaluationInput input = biased_input();
  const Config all = options("{linear_dcl: {epochs: 15, batch_size: 20, learning_rate: 0.3, views: eval}}");
  EvaluationCache cache(input, Progress::silent(), all);
  const EvaluationResult& groups = cache.judge("groups", options("{predictions: linear}"));
  const EvaluationResult& linear = cache.judge("linear_dcl", *all.find("linear_dcl"));
  EXPECT_EQ(&linear, &cache.judge("linear"));
  EXPECT_DOUBLE_EQ(groups.metrics.at("test.acc1"), linear.metrics.at("test.linear_acc1"));
  EXPECT_EQ(groups.predictions.at("test"), linear.predictions.at("test"));
}

TEST(Groups, OtherDataSetsHaveNoAlignedValueUnlessToldSo) {
  EvaluationInput input = toy_input();
  input.test = biased("test", "image_folder");
  EXPECT_FALSE(judged(input, "groups").metrics.contains("test.aligned_acc"));
  EXPECT_TRUE(judged(input, "groups", "{aligned: label}").metrics.contains("test.aligned_acc"));
  input.test = biased("test");
  EXPECT_FALSE(judged(input, "groups", "{aligned: none}").metrics.contains("test.aligned_acc"));
}

TEST(Groups, RefusesDataWithoutABias) {
  EXPECT_EQ(error_of(ErrorKind::kUsage, [] { judged(toy_input(), "groups"); }),
            "groups: split 'test' of toy has no bias values; judge glyphs, biased_mnist, corrupted_cifar10, bffhq, or image_folder with "
            "labels=FILE.csv (path,label,bias)");
}

TEST(Groups, OfEqualNamesItsMetricCounts) {
  EvaluationResult knn, groups;
  knn.metrics = {{"test.aligned_acc", 0.1}, {"test.knn_acc1", 0.2}};
  groups.metrics = {{"test.aligned_acc", 0.3}, {"test.acc1", 0.4}};
  for (const bool first : {true, false}) {
    NamedMetrics all;
    append_metrics(first ? "knn" : "groups", first ? knn : groups, all);
    append_metrics(first ? "groups" : "knn", first ? groups : knn, all);
    EXPECT_EQ(all.size(), 3u);
    EXPECT_EQ(metrics_of(parse_condition("test.aligned_acc<1"), all)[0].second, 0.3);
  }
}

}  // namespace
}  // namespace debias
