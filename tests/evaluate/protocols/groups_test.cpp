// The protocol `groups` on a toy whose predictions are known.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "debias/core/philox.h"
#include "debias/data/dataset.h"
#include "debias/data/name_table.h"
#include "debias/evaluate/protocols/group_metrics.h"
#include "debias/evaluate/protocols/groups.h"
#include "debias/results/statistics.h"
#include "tests/evaluate/toy.h"
#include "tests/support/refusals.h"

namespace debias {
namespace groups_test {

// kNN is right on the toy, so relabelling an image makes it wrong. Bias label b of image i: i % 3 for the first 20, then (i + 1) % 3.
std::shared_ptr<ToyDataset> biased(const std::string& split, const std::string& name = "glyphs") {
  const auto dataset = std::make_shared<ToyDataset>(30, 3, split);
  for (int64_t i = 0; i < 30; ++i) dataset->set_bias(i, i < 20 ? i % 3 : (i + 1) % 3);
  dataset->editable_info().name = name;
  dataset->editable_info().bias_names = {"red", "green", "blue"};
  return dataset;
}

EvaluationInput biased_input() {
  EvaluationInput input = toy_input();
  input.train = biased("train");
  const auto test = biased("test");
  test->set_label(0, 1);   // class 0, bias 0 -> label 1: conflicting and wrong
  test->set_label(29, 0);  // class 2, bias 0 -> label 0: aligned and wrong
  input.test = test;
  return input;
}

ChosenProtocols chosen(const std::string& yaml) { return read_protocols(SampleKind::kImages, {}, options(yaml)); }

TEST(Groups, EvaluatesKnnWithoutAClassifier) {
  const EvaluationResult result = evaluated(biased_input(), "groups");
  EXPECT_DOUBLE_EQ(result.metrics.at("test.acc1"), 28.0 / 30);
  EXPECT_DOUBLE_EQ(result.metrics.at("test.aligned_acc"), 19.0 / 20);
  EXPECT_DOUBLE_EQ(result.metrics.at("test.conflicting_acc"), 9.0 / 10);
  EXPECT_DOUBLE_EQ(result.metrics.at("test.worst_group_acc"), 0);  // label 1, bias 0: one image
  EXPECT_EQ(details(result)["options"]["predictions"], "knn");
  EXPECT_EQ(details(result)["groups"]["test"]["count"][1][0], 1);
  EXPECT_EQ(details(result)["groups"]["test"]["accuracy"][1][0], 0.0);
  EXPECT_TRUE(details(result)["groups"]["test"]["accuracy"][1][1].is_number());
  EXPECT_EQ(details(result)["groups"]["test"]["biases"][2], "blue");
  const auto& [low, high] = result.record.intervals.at("test.acc1");
  EXPECT_LE(low, 28.0 / 30);
  EXPECT_GE(high, 28.0 / 30);
  EXPECT_EQ(details(result)["intervals"]["test.acc1"][0], low);
}

TEST(Groups, KeepsFourAlignedAndFourConflictingImagesThatDependOnTheDataAlone) {
  const EvaluationInput input = biased_input();
  const EvaluationResult result = evaluated(input, "groups");
  const auto& examples = result.record.examples.at("test");
  ASSERT_EQ(examples.size(), 8u);
  EXPECT_EQ(result.images.size(), 8u);
  std::set<std::string> classes;
  for (size_t i = 0; i < examples.size(); ++i) {
    const ExampleImage& image = examples[i];
    const ShownImage& shown = result.images.at(fmt::format("test_{}", image.id));
    const int64_t label = input.test->label(shown.index), bias = input.test->bias(shown.index);
    EXPECT_EQ(image.aligned, i < 4);
    EXPECT_EQ(image.aligned, label == bias);
    EXPECT_EQ(image.label, fmt::format("class{}", label));
    EXPECT_EQ(image.predicted, fmt::format("class{}", result.predictions.at("test")[static_cast<size_t>(shown.index)]));
    if (image.aligned) classes.insert(image.label);
  }
  EXPECT_EQ(classes.size(), 3u) << "of as many classes as there are";
  EvaluationInput other = biased_input();
  other.seed = 7;
  const EvaluationResult again = evaluated(other, "groups");
  for (size_t i = 0; i < examples.size(); ++i) EXPECT_EQ(again.record.examples.at("test")[i].id, examples[i].id);
  EXPECT_EQ(details(result)["examples"]["test"][0]["label"], examples[0].label);
}

TEST(Groups, SaysWhichGroupsHaveNoMembersAndLeavesThemNull) {
  const EvaluationResult result = evaluated(biased_input(), "groups");
  EXPECT_TRUE(details(result)["groups"]["test"]["accuracy"][0][2].is_null());
  ASSERT_FALSE(result.notes.empty());
  EXPECT_EQ(result.notes.back(),
            "groups: test: 2 of 9 groups have no members (class0 x blue, class2 x green): left out of worst_group_acc and unbiased_acc");
  EXPECT_EQ(details(result)["notes"].size(), result.notes.size());
}

TEST(Groups, BiasLabelsThatTrainingLacksAreAGroupOfTheirOwn) {
  EvaluationInput input = biased_input();
  const auto other_site = biased("test");
  other_site->editable_info().bias_names = {"red", "green", "blue", "white"};
  for (int64_t i = 0; i < 30; i += 3) other_site->set_bias(i, 3);  // all ten of class 0
  other_site->set_label(0, 1);                                     // predicted as class 0: wrong
  const auto mapped = map_to_table(other_site, name_table(*input.train), UnknownNames::kIgnore);
  input.test = mapped.dataset;
  const EvaluationResult result = evaluated(input, "groups");
  EXPECT_EQ(details(result)["groups"]["test"]["biases"], nlohmann::json({"red", "green", "blue", "unknown"}));
  EXPECT_EQ(details(result)["groups"]["test"]["count"][0][3], 9);
  EXPECT_EQ(details(result)["groups"]["test"]["count"][1][3], 1);
  EXPECT_EQ(result.metrics.at("test.worst_group_acc"), 0) << "that image alone";
  EXPECT_EQ(result.metrics.at("test.conflicting_acc"), 1) << "it is on neither side";
  EXPECT_THAT(result.notes, testing::Contains("groups: test: 10 of 30 images have bias labels that training lacks, or none (acc1 0.9000): "
                                              "they are the groups 'unknown', neither aligned nor conflicting"));
  for (const auto& example : result.record.examples.at("test")) EXPECT_NE(example.bias, "-1");
  EXPECT_EQ(result.record.is_aligned(result.record.groups.at("test"), 0, 3), std::nullopt);

  for (int64_t i = 0; i < 30; ++i) other_site->set_bias(i, 3);  // no image of a site that training knows
  input.test = map_to_table(other_site, name_table(*input.train), UnknownNames::kIgnore).dataset;
  const EvaluationResult none = evaluated(input, "groups");
  EXPECT_DOUBLE_EQ(none.metrics.at("test.worst_group_acc"), 10.0 / 11);
  EXPECT_FALSE(none.metrics.contains("test.aligned_acc"));
}

TEST(Groups, ImagesWithoutABiasLabelAreCountedAndInNoGroup) {
  EvaluationInput input = biased_input();
  const auto test = biased("test");
  for (int64_t i = 0; i < 6; ++i) test->set_bias(i, kUnknown);
  input.test = test;
  const EvaluationResult result = evaluated(input, "groups");
  EXPECT_THAT(result.notes, testing::Contains("groups: test: 6 of 30 images have no bias label (acc1 1.0000): they are in no group"));
  EXPECT_EQ(details(result)["groups"]["test"]["biases"].size(), 3);
}

TEST(Groups, AnUndefinedMetricIsNullAndNamed) {
  EvaluationInput input = biased_input();
  const auto test = biased("test");
  for (int64_t i = 0; i < 30; ++i) test->set_bias(i, (i + 1) % 3);
  input.test = test;
  const EvaluationResult result = evaluated(input, "groups");
  EXPECT_FALSE(result.metrics.contains("test.aligned_acc"));
  EXPECT_TRUE(details(result)["metrics"]["test.aligned_acc"].is_null());
  EXPECT_EQ(result.notes.front(), "groups: test.aligned_acc is undefined: no groups to compute it from");
}

TEST(Groups, TakesTheClassifierWhereTheRunHasOneOrWhatIsAskedFor) {
  EvaluationInput input = biased_input();
  EXPECT_EQ(usage_error_of([&] { evaluated(input, "groups", "{predictions: classifier}"); }),
            "groups: predictions: the run has no classifier; give knn or linear, or train with a `classifier`");
  input.classifier = [](const at::Tensor& features) {  // always class 1
    const at::Tensor logits = at::zeros({features.size(0), 3});
    logits.select(1, 1).fill_(1);
    return logits;
  };
  const EvaluationResult own = evaluated(input, "groups");
  EXPECT_EQ(details(own)["options"]["predictions"], "classifier");
  EXPECT_DOUBLE_EQ(own.metrics.at("test.acc1"), 11.0 / 30);
  EXPECT_DOUBLE_EQ(evaluated(input, "groups", "{predictions: knn}").metrics.at("test.acc1"), 28.0 / 30);
}

TEST(Groups, EvaluatesTheProbeWithTheOptionsOfTheSameCallAndRunsItOnce) {
  const EvaluationInput input = biased_input();
  const ChosenProtocols all = chosen("{linear_dcl: {epochs: 15, batch_size: 20, learning_rate: 0.3, views: eval}}");
  EvaluationCache cache(input, Progress::silent(), all);
  const EvaluationResult& groups = cache.evaluate(chosen("{groups: {predictions: linear}}").of("groups"));
  const EvaluationResult& linear = cache.evaluate(all.of("linear_dcl"));
  EXPECT_EQ(&linear, &cache.evaluate("linear"));
  EXPECT_DOUBLE_EQ(groups.metrics.at("test.acc1"), linear.metrics.at("test.linear_acc1"));
  EXPECT_EQ(groups.predictions.at("test"), linear.predictions.at("test"));
}

// The pictures of a folder: class c goes with bias label (c + 1) % 3, in 20 of 30 images, and kNN is right on all but one that conflicts.
EvaluationInput rotated_input() {
  EvaluationInput input = toy_input();
  const auto rotated = [](const std::string& split) {
    const auto dataset = biased(split, "image_folder");
    for (int64_t i = 0; i < 30; ++i) dataset->set_bias(i, (dataset->bias(i) + 1) % 3);
    return dataset;
  };
  const auto test = rotated("test");
  test->set_label(29, 0);  // its picture is of class 2, and its bias label is 1, which goes with class 0
  input.train = rotated("train");
  input.test = test;
  return input;
}

TEST(Groups, TheMostFrequentBiasValueOfAClassInTrainingIsAlignedWithItWhateverItsNumber) {
  const EvaluationResult result = evaluated(rotated_input(), "groups");
  EXPECT_DOUBLE_EQ(result.metrics.at("test.aligned_acc"), 20.0 / 21);
  EXPECT_DOUBLE_EQ(result.metrics.at("test.conflicting_acc"), 1);
  EXPECT_EQ(details(result)["aligned"].dump(), R"({"class0":["green"],"class1":["blue"],"class2":["red"]})");
  EXPECT_EQ(details(result)["aligned_by"], "majority");
  EXPECT_DOUBLE_EQ(details(result)["aligned_share"], 20.0 / 30);
  EXPECT_NEAR(details(result)["aligned_share_by_chance"], 1.0 / 3, 0.01);
  EXPECT_EQ(details(result)["options"]["aligned"], "auto");
  EXPECT_EQ(details(result)["predictions"], "knn");
}

TEST(Groups, KnnTakesTheSameMap) {
  const EvaluationInput input = rotated_input();
  for (const char* aligned : {"auto", "label", "{class0: green, class1: blue, class2: [red, green]}", "none"}) {
    const ChosenProtocols all = chosen(fmt::format("{{groups: {{bootstrap: 0, aligned: {}}}}}", aligned));
    EvaluationCache cache(input, Progress::silent(), all);
    const EvaluationResult &groups = cache.evaluate("groups"), &knn = cache.evaluate("knn");
    EXPECT_EQ(groups.metrics.contains("test.conflicting_acc"), std::string(aligned) != "none");
    for (const std::string name : {"test.aligned_acc", "test.conflicting_acc"}) {
      const auto of = [&](const EvaluationResult& result) { return result.metrics.contains(name) ? result.metrics.at(name) : -1; };
      EXPECT_EQ(of(knn), of(groups)) << aligned;
    }
    EXPECT_EQ(details(knn)["predictions"], "knn");
    if (std::string(aligned) == "none") continue;
    EXPECT_EQ(details(knn)["aligned"], details(groups)["aligned"]);
    EXPECT_EQ(details(knn)["aligned_by"], details(groups)["aligned_by"]);
  }
}

TEST(Groups, WithoutBiasValuesInTrainingEachEvaluatedSetIsEvaluatedByItsOwnNames) {
  EvaluationInput input = toy_input();
  const auto test = biased("test", "image_folder"), valid = biased("valid", "image_folder");
  valid->editable_info().bias_names = {"green", "blue", "red"};
  for (int64_t i = 0; i < 30; ++i) valid->set_bias(i, (test->bias(i) + 2) % 3);  // the same values by name
  input.test = test;
  input.valid = valid;
  const ChosenProtocols all = chosen("{groups: {bootstrap: 0, aligned: {class0: red, class1: green, class2: blue}}}");
  for (const auto& dataset : {test, valid}) dataset->set_label(29, 0);  // aligned and wrong
  EvaluationCache cache(input, Progress::silent(), all);
  for (const std::string protocol : {"groups", "knn"}) {
    const auto& metrics = cache.evaluate(protocol).metrics;
    EXPECT_DOUBLE_EQ(metrics.at("test.aligned_acc"), 20.0 / 21) << protocol;
    EXPECT_DOUBLE_EQ(metrics.at("valid.aligned_acc"), 20.0 / 21) << protocol;
    EXPECT_DOUBLE_EQ(metrics.at("valid.conflicting_acc"), 1) << protocol;
  }
}

TEST(Groups, NotesOnWhatIsAlignedAreSaidOnceHoweverManyProtocolsAsk) {
  EvaluationInput input = toy_input();
  input.test = biased("test", "image_folder");
  const auto said = [&](const std::vector<std::string>& protocols) {
    EvaluationCache cache(input, Progress::silent(), chosen("{groups: {bootstrap: 0}}"));
    int64_t times = 0;
    for (const auto& protocol : protocols) {
      const EvaluationResult& result = cache.evaluate(protocol);
      times += std::count(result.notes.begin(), result.notes.end(),
                          "the training set has no bias labels, so none is aligned with a class; give groups.aligned: {class: bias label}");
      EXPECT_EQ(details(result)["notes"][0].get<std::string>().find("the training set has no bias labels"), 0u) << protocol;
    }
    return times;
  };
  EXPECT_EQ(said({"knn"}), 1);
  EXPECT_EQ(said({"groups"}), 1);
  EXPECT_EQ(said({"knn", "groups"}), 1);
  EXPECT_EQ(said({"groups", "knn"}), 1);
}

TEST(Groups, ClassesAndBiasValuesThatNoImageHasMakeNoGroups) {
  EvaluationInput input = toy_input();
  const auto from_one = [](const std::string& split) {
    const auto dataset = biased(split);
    for (int64_t i = 0; i < 30; ++i) {
      dataset->set_label(i, i % 3 + 1);
      dataset->set_bias(i, dataset->bias(i) + 1);
    }
    dataset->editable_info().class_names.clear();
    dataset->editable_info().bias_names.clear();
    return dataset;
  };
  input.train = from_one("train");
  input.test = from_one("test");
  const EvaluationResult result = evaluated(input, "groups", "{bootstrap: 0, aligned: label}");
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_EQ(result.notes[0],
            "groups: test: 3 of 9 groups have no members (1 x 3, 2 x 1, 3 x 2): left out of worst_group_acc and unbiased_acc");
}

TEST(Groups, KnnLeavesTheSidesToTheClassifierWhereTheRunHasOne) {
  EvaluationInput input = biased_input();
  const EvaluationResult alone = evaluated(input, "knn");
  EXPECT_FALSE(details(alone).contains("sides"));
  input.classifier = [](const at::Tensor& features) { return at::zeros({features.size(0), 3}); };
  const EvaluationResult beside = evaluated(input, "knn");
  for (const std::string name : {"test.aligned_acc", "test.conflicting_acc"}) {
    EXPECT_FALSE(beside.metrics.contains(name));
    EXPECT_FALSE(details(beside)["metrics"].contains(name));
    EXPECT_EQ(details(beside)["sides"][name], alone.metrics.at(name));
  }
}

TEST(Groups, WritesConfusionClassesAndRatesOfBiasValues) {
  const auto table = details(evaluated(biased_input(), "groups", "{bootstrap: 0}"))["groups"]["test"];
  EXPECT_EQ(table["confusion"].dump(), "[[9,0,1],[1,10,0],[0,0,9]]");
  EXPECT_EQ(table["per_class"]["class1"].dump(), R"({"count":11,"predicted":10,"accuracy":0.9090909090909091})");
  const auto& red = table["by_bias"]["red"];
  EXPECT_EQ(red["count"], 11);
  EXPECT_DOUBLE_EQ(red["error_rate"], 2.0 / 11);
  EXPECT_DOUBLE_EQ(red["selection_rate"]["class0"], 7.0 / 11);
}

TEST(Groups, RefusesDataWithoutABias) {
  EXPECT_EQ(usage_error_of([] { evaluated(toy_input(), "groups"); }),
            "groups: split 'test' of toy has no bias labels; give them by data.test.labels: FILE.csv (path,label,bias), after training by "
            "debias eval groups RUN --labels FILE.csv, or of a feature table by --bias COLUMN");
}

TEST(Groups, OfEqualNamesItsMetricCounts) {
  EvaluationResult knn, groups;
  knn.metrics = {{"test.aligned_acc", 0.1}, {"test.knn_acc1", 0.2}};
  groups.metrics = {{"test.aligned_acc", 0.3}, {"test.acc1", 0.4}};
  for (const bool first : {true, false}) {
    NamedMetrics all;
    append_metrics(first ? knn : groups, all);
    append_metrics(first ? groups : knn, all);
    EXPECT_EQ(all.size(), 3u);
    EXPECT_EQ(metrics_of(parse_condition("test.aligned_acc<1"), all)[0].second, 0.3);
  }
}

TEST(Groups, WhatItLeavesUndefinedIsNotFilledByKnn) {
  EvaluationResult knn, groups;
  knn.metrics = {{"test.aligned_acc", 0.1}, {"test.conflicting_acc", 0.2}, {"valid.aligned_acc", 0.5}};
  groups.metrics = {{"test.acc1", 0.4}, {"test.conflicting_acc", 0.6}};
  for (const bool first : {true, false}) {
    NamedMetrics all;
    append_metrics(first ? knn : groups, all);
    append_metrics(first ? groups : knn, all);
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, (NamedMetrics{{"test.acc1", 0.4}, {"test.conflicting_acc", 0.6}, {"valid.aligned_acc", 0.5}}));
  }
}

// Hand-worked tables, fairlearn's own figures, and the bootstrap's laws.

GroupMetricOptions by_label(int64_t min_count = 1) { return {.alignment = AlignmentMap::by_label(10), .min_count = min_count}; }

GroupMetrics metrics_of(const GroupSamples& samples, const GroupMetricOptions& options = by_label()) {
  return group_metrics(count_groups(samples), options);
}

// Labels and bias labels drawn with a correlation, predictions right in 6 of 10: every cell has members. tests/evaluate/
// check_with_fairlearn.py draws the same samples from the same recurrence.
GroupSamples drawn_samples(int64_t classes, int64_t groups, int64_t count, uint64_t state) {
  const auto next = [&state](int64_t n) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(n));
  };
  GroupSamples samples{{}, {}, {}, classes, groups};
  for (int64_t i = 0; i < count; ++i) {
    const int64_t label = next(classes), bias = next(10) < 4 ? label % groups : next(groups);
    samples.labels.push_back(label);
    samples.biases.push_back(bias);
    samples.predictions.push_back(next(10) < 6 ? label : next(2) == 0 ? bias % classes : next(classes));
  }
  return samples;
}

// Cells (label, bias): (0,0) 3 of 4 right, (0,1) 1 of 2, (1,0) 0 of 1, (1,1) 3 of 3.
GroupSamples four_cells() { return {{0, 0, 0, 0, 0, 0, 1, 1, 1, 1}, {0, 0, 0, 0, 1, 1, 0, 1, 1, 1}, {0, 0, 0, 1, 0, 1, 0, 1, 1, 1}, 2, 2}; }

TEST(GroupMetrics, HandExample) {
  const GroupMetrics metrics = metrics_of(four_cells());
  EXPECT_DOUBLE_EQ(metrics.at("acc1"), 0.7);
  EXPECT_DOUBLE_EQ(metrics.at("aligned_acc"), 6.0 / 7);
  EXPECT_DOUBLE_EQ(metrics.at("conflicting_acc"), 1.0 / 3);
  EXPECT_DOUBLE_EQ(metrics.at("worst_group_acc"), 0);
  EXPECT_DOUBLE_EQ(metrics.at("unbiased_acc"), (0.75 + 0.5 + 0 + 1) / 4);
  EXPECT_DOUBLE_EQ(metrics.at("demographic_parity_difference"), 4.0 / 5 - 1.0 / 5);
  EXPECT_DOUBLE_EQ(metrics.at("equal_opportunity_difference"), 1.0);
  EXPECT_DOUBLE_EQ(metrics.at("equalized_odds_difference"), 1.0);
  const PredictionCounts counts = count_groups(four_cells());
  EXPECT_EQ(counts.count, (std::vector<int64_t>{4, 2, 1, 3}));
  EXPECT_EQ(counts.correct, (std::vector<int64_t>{3, 1, 0, 3}));
  EXPECT_EQ(counts.predicted, (std::vector<int64_t>{4, 1, 1, 4}));
}

TEST(GroupMetrics, SmallGroupsAreLeftOutOfWorstAndUnbiased) {
  const GroupMetrics metrics = metrics_of(four_cells(), by_label(2));
  EXPECT_DOUBLE_EQ(metrics.at("worst_group_acc"), 0.5);
  EXPECT_DOUBLE_EQ(metrics.at("unbiased_acc"), (0.75 + 0.5 + 1) / 3);
  EXPECT_DOUBLE_EQ(metrics.at("conflicting_acc"), 1.0 / 3);
  EXPECT_TRUE(std::isnan(metrics_of(four_cells(), by_label(5)).at("worst_group_acc")));
}

TEST(GroupMetrics, UnknownLabelsAndBiasValuesAreInNoGroup) {
  GroupSamples samples = four_cells();
  samples.labels.insert(samples.labels.end(), {kUnknown, 1});
  samples.biases.insert(samples.biases.end(), {0, kUnknown});
  samples.predictions.insert(samples.predictions.end(), {0, 1});
  const GroupMetrics metrics = metrics_of(samples);
  EXPECT_DOUBLE_EQ(metrics.at("acc1"), 8.0 / 11);
  EXPECT_DOUBLE_EQ(metrics.at("aligned_acc"), 6.0 / 7);
  EXPECT_EQ(count_groups(samples).count, count_groups(four_cells()).count);
}

TEST(GroupMetrics, WithoutACorrespondenceNothingIsAligned) {
  const GroupMetrics metrics = metrics_of(four_cells(), {.alignment = AlignmentMap()});
  EXPECT_FALSE(metrics.contains("aligned_acc"));
  EXPECT_FALSE(metrics.contains("conflicting_acc"));
  EXPECT_TRUE(metrics.contains("worst_group_acc"));
}

// A test set of conflicting images only, as bFFHQ's: each rate is known for one bias label, so no difference is.
TEST(GroupMetrics, AnEmptyGroupIsUndefinedUnlessTakenForZero) {
  const GroupSamples samples{{0, 0, 1, 1}, {1, 1, 0, 0}, {0, 1, 1, 1}, 2, 2};
  const GroupMetrics skipped = metrics_of(samples), zero = metrics_of(samples, {.alignment = {}, .empty = EmptyRate::kZero});
  EXPECT_TRUE(std::isnan(skipped.at("aligned_acc")));
  EXPECT_TRUE(std::isnan(skipped.at("equal_opportunity_difference")));
  EXPECT_TRUE(std::isnan(skipped.at("equalized_odds_difference")));
  EXPECT_DOUBLE_EQ(skipped.at("demographic_parity_difference"), 0.5);
  EXPECT_DOUBLE_EQ(skipped.at("worst_group_acc"), 0.5);
  EXPECT_DOUBLE_EQ(zero.at("equal_opportunity_difference"), 1.0);  // fairlearn 0.15.0 gives 1.0 and 1.0
  EXPECT_DOUBLE_EQ(zero.at("equalized_odds_difference"), 1.0);
  EXPECT_TRUE(std::isnan(count_groups(samples).accuracy(0)));
}

// Figures printed by check_with_fairlearn.py (fairlearn 0.15.0, scikit-learn 1.9.1).
struct FairlearnCase {
  int64_t classes, groups, count;
  double parity, opportunity, odds;
};
class AgainstFairlearn : public testing::TestWithParam<FairlearnCase> {};
TEST_P(AgainstFairlearn, EqualsItsFigures) {
  const FairlearnCase& c = GetParam();
  const GroupMetrics metrics = metrics_of(drawn_samples(c.classes, c.groups, c.count, 1));
  EXPECT_NEAR(metrics.at("demographic_parity_difference"), c.parity, 1e-12);
  EXPECT_NEAR(metrics.at("equal_opportunity_difference"), c.opportunity, 1e-12);
  EXPECT_NEAR(metrics.at("equalized_odds_difference"), c.odds, 1e-12);
}
INSTANTIATE_TEST_SUITE_P(Drawn, AgainstFairlearn,
                         testing::Values(FairlearnCase{2, 2, 500, 0.4387250176723861, 0.18263521104156633, 0.18622754491017962},
                                         FairlearnCase{2, 3, 301, 0.43058174960104456, 0.22000724900326207, 0.22000724900326207},
                                         FairlearnCase{3, 3, 600, 0.5269430051813472, 0.46990740740740744, 0.46990740740740744},
                                         FairlearnCase{10, 10, 5000, 0.4980314960629922, 0.5336538461538461, 0.5336538461538461},
                                         FairlearnCase{5, 2, 1000, 0.3254346296854588, 0.22775510204081628, 0.22775510204081628}));

TEST(GroupMetrics, RefusesListsThatDoNotFitAndValuesOutOfRange) {
  GroupSamples samples = four_cells();
  samples.predictions.pop_back();
  EXPECT_EQ(data_error_of([&] { count_groups(samples); }),
            "groups: 10 labels, 10 bias labels and 9 predictions; give one of each per sample");
  samples = four_cells();
  samples.predictions[3] = 2;
  EXPECT_EQ(data_error_of([&] { count_groups(samples); }), "groups: prediction 2 of sample 3 is not in [0, 2); check the labels");
  samples = four_cells();
  samples.biases[4] = -2;
  EXPECT_EQ(data_error_of([&] { count_groups(samples); }), "groups: bias label -2 of sample 4 is not in [-1, 2); check the labels");
}

// acc1 of n samples is binomial: its interval is 2 * 1.96 * sqrt(p (1 - p) / n) wide, give or take the replicates' noise.
TEST(GroupIntervals, HaveTheWidthOfABinomialAndHoldTheValue) {
  const GroupSamples samples = drawn_samples(4, 4, 2000, 3);
  const double p = metrics_of(samples).at("acc1");
  const auto intervals = group_intervals(samples, by_label(), {});
  const auto [low, high] = intervals.at("acc1");
  EXPECT_LT(low, p);
  EXPECT_GT(high, p);
  EXPECT_NEAR(high - low, 2 * 1.96 * std::sqrt(p * (1 - p) / 2000), 0.006);
  const auto [narrow_low, narrow_high] = group_intervals(samples, {}, {.level = 0.5}).at("acc1");
  EXPECT_NEAR(narrow_high - narrow_low, 2 * 0.6745 * std::sqrt(p * (1 - p) / 2000), 0.004);
  EXPECT_EQ(intervals.size(), metrics_of(samples).size());
}

// Of four wrong samples, and of samples that are all of one unit, replicates are all alike, which shows no certainty.
TEST(GroupIntervals, AreWilsonsWhereReplicatesAreAllAlike) {
  GroupSamples samples = {{0, 0, 0, 0, 1, 1}, {1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1}, 2, 2, {}};
  const auto near = [](std::pair<double, double> found, const Proportion& share) {
    const auto [low, high] = wilson_interval(share);
    EXPECT_NEAR(found.first, low, 1e-12);
    EXPECT_NEAR(found.second, high, 1e-12);
  };
  const GroupMetricOptions sides = {.alignment = AlignmentMap::by_label(2)};
  near(group_intervals(samples, sides, {}).at("conflicting_acc"), {0, 4});
  near(group_intervals(samples, sides, {}).at("aligned_acc"), {1, 2});
  samples.units = {7, 7, 7, 8, 9, 9};
  samples.predictions = {0, 0, 1, 1, 1, 1};
  near(group_intervals(samples, sides, {}).at("aligned_acc"), {1, 1});
  samples.predictions.back() = 0;
  near(group_intervals(samples, sides, {}).at("aligned_acc"), {0.5, 1});
}

TEST(GroupIntervals, FollowTheSeedAndNothingElse) {
  const GroupSamples samples = drawn_samples(3, 3, 200, 3);
  const auto once = group_intervals(samples, {}, {.replicates = 50});
  at::set_num_threads(3);
  EXPECT_EQ(group_intervals(samples, {}, {.replicates = 50}), once);
  at::set_num_threads(1);
  EXPECT_NE(group_intervals(samples, {}, {.replicates = 50, .seed = 2}), once);
  EXPECT_TRUE(group_intervals(samples, {}, {.replicates = 0}).empty());
}

TEST(GroupIntervals, AGroupLeftOutOfTheValueIsLeftOutOfReplicates) {
  GroupSamples samples = drawn_samples(2, 2, 400, 3);
  samples.groups = 3;  // one sample of a third bias label, predicted wrong
  samples.labels.push_back(0);
  samples.biases.push_back(2);
  samples.predictions.push_back(1);
  EXPECT_GT(group_intervals(samples, by_label(2), {}).at("worst_group_acc").first, 0.3);
  EXPECT_EQ(group_intervals(samples, {}, {}).at("worst_group_acc").first, 0);
}

// 100 groups of 20 samples, each with 0.6 right: the worst of a replicate is far below the worst of the sample.
TEST(GroupIntervals, ThatOfTheWorstGroupHoldsItsValueAndTheTruth) {
  int held = 0;
  for (int seed = 0; seed < 40; ++seed) {
    Random random({.seed = static_cast<uint64_t>(seed)});
    GroupSamples samples{{}, {}, {}, 10, 10};
    for (int64_t i = 0; i < 2000; ++i) {
      const int64_t label = i % 10;
      samples.labels.push_back(label);
      samples.biases.push_back(i / 10 % 10);
      samples.predictions.push_back(random.uniform() < 0.6 ? label : (label + 1) % 10);
    }
    const double worst = metrics_of(samples).at("worst_group_acc");
    const auto [low, high] = group_intervals(samples, {}, {.replicates = 20}).at("worst_group_acc");
    EXPECT_LE(low, worst);
    EXPECT_GE(high, worst);
    held += low <= 0.6 && 0.6 <= high;
  }
  EXPECT_GE(held, 35);  // of 40; percentiles of replicates hold it in none
}

}  // namespace groups_test
}  // namespace debias
