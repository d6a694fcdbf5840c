// Draws by hand, accuracies against plain gradient descent in double, intervals by the t quantile, and what is rejected.
#include "debias/evaluate/protocols/low_shot.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "debias/core/philox.h"
#include "debias/core/registry.h"
#include "debias/evaluate/accuracy.h"
#include "debias/evaluate/protocol_registry.h"
#include "tests/evaluate/toy.h"
#include "tests/support/refusals.h"

namespace debias {
namespace low_shot_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;

constexpr LowShotSetting kTenth{"10pct", 0.1, 0};

LowShotSetting per_class(int64_t count) { return {"", 0, count}; }

std::vector<int64_t> labels_of(const std::vector<std::pair<int64_t, int64_t>>& counts) {
  std::vector<int64_t> labels;
  for (const auto& [label, count] : counts) labels.insert(labels.end(), static_cast<size_t>(count), label);
  return labels;
}

std::vector<int64_t> counts_of(const std::vector<int64_t>& rows, const std::vector<int64_t>& labels, int64_t classes) {
  std::vector<int64_t> counts(static_cast<size_t>(classes));
  for (const int64_t row : rows) ++counts.at(static_cast<size_t>(labels[static_cast<size_t>(row)]));
  return counts;
}

TEST(LowShotRows, AShareIsRoundedInEachClassAndTakesAtLeastOne) {
  const auto labels = labels_of({{2, 204}, {kUnknown, 50}, {0, 35}, {1, 4}});
  EXPECT_THAT(counts_of(low_shot_rows(labels, kTenth, 0, 1), labels, 3), ElementsAre(4, 1, 20));  // 3.5, 0.4 and 20.4
  EXPECT_EQ(low_shot_rows(labels, {"", 1, 0}, 0, 1).size(), 243u);
}

TEST(LowShotRows, SoManyOfEachClassInAscendingOrder) {
  const auto labels = labels_of({{1, 9}, {kUnknown, 3}, {0, 9}});
  const auto rows = low_shot_rows(labels, per_class(9), 2, 7);
  EXPECT_THAT(counts_of(rows, labels, 2), ElementsAre(9, 9));
  EXPECT_TRUE(std::ranges::is_sorted(rows));
  EXPECT_EQ(std::set(rows.begin(), rows.end()).size(), 18u);
}

TEST(LowShotRows, OfOneDrawSmallerSettingsArePartOfLargerOnes) {
  const auto labels = labels_of({{0, 40}, {1, 60}});
  const auto five = low_shot_rows(labels, per_class(5), 3, 1);
  EXPECT_THAT(low_shot_rows(labels, {"", 0.5, 0}, 3, 1), IsSupersetOf(five));
  EXPECT_THAT(five, IsSupersetOf(low_shot_rows(labels, per_class(1), 3, 1)));
}

TEST(LowShotRows, DependOnTheDrawAndTheSeedAlone) {
  const auto labels = labels_of({{0, 40}, {1, 60}});
  const auto rows = low_shot_rows(labels, per_class(5), 0, 1);
  EXPECT_EQ(rows, low_shot_rows(labels, per_class(5), 0, 1));
  EXPECT_NE(rows, low_shot_rows(labels, per_class(5), 1, 1));
  EXPECT_NE(rows, low_shot_rows(labels, per_class(5), 0, 2));
}

TEST(LowShotRows, TakeEachImageOfAClassEquallyOften) {
  const auto labels = labels_of({{0, 4}, {1, 4}});
  std::vector<int64_t> taken(8);
  for (int64_t draw = 0; draw < 4000; ++draw) {
    for (const int64_t row : low_shot_rows(labels, per_class(1), draw, 1)) ++taken[static_cast<size_t>(row)];
  }
  for (const int64_t count : taken) EXPECT_NEAR(static_cast<double>(count), 1000, 5 * std::sqrt(4000 * 0.25 * 0.75));
}

// Overlapping classes, so that few labels give other accuracies than many. Features of scales that differ, far from the origin.
Features drawn_features(const Dataset& dataset, uint64_t seed) {
  Random random({.domain = RngDomain::kTest, .seed = seed});
  constexpr int64_t kDimensions = 4;
  Features features;
  features.values = at::empty({dataset.size(), kDimensions}, at::kFloat);
  float* value = features.values.mutable_data_ptr<float>();
  for (int64_t i = 0; i < dataset.size(); ++i) {
    for (int64_t d = 0; d < kDimensions; ++d) {
      const double centre = d == dataset.label(i) ? 1.5 : 0;
      *value++ = static_cast<float>(100 + std::pow(10, d) * (centre + random.normal()));
    }
    features.labels.push_back(dataset.label(i));
    features.biases.push_back(kUnknown);
    features.indices.push_back(i);
  }
  return features;
}

EvaluationInput stored_input(const std::shared_ptr<ToyDataset>& train = std::make_shared<ToyDataset>(300, 3)) {
  EvaluationInput input;
  input.train = train;
  input.test = std::make_shared<ToyDataset>(200, 3, "test");
  input.stored["train"] = drawn_features(*input.train, 1);
  input.stored["test"] = drawn_features(*input.test, 2);
  return input;
}

// The accuracy of softmax regression by gradient descent, on features standardised by all training rows.
double reference_accuracy(const EvaluationInput& input, const std::vector<int64_t>& rows, double l2) {
  const at::Tensor all = input.stored.at("train").values.to(at::kDouble);
  const at::Tensor mean = all.mean(0), deviation = all.std(0, /*unbiased=*/false);
  const at::Tensor chosen = at::tensor(rows, at::kLong);
  const at::Tensor x = (all.index_select(0, chosen) - mean) / deviation;
  const at::Tensor y = at::one_hot(at::tensor(input.stored.at("train").labels, at::kLong).index_select(0, chosen), 3).to(at::kDouble);
  at::Tensor w = at::zeros({3, x.size(1)}, at::kDouble), b = at::zeros({3}, at::kDouble);
  for (int step = 0; step < 4000; ++step) {
    const at::Tensor residual = (at::softmax(x.mm(w.t()) + b, 1) - y) / static_cast<double>(x.size(0));
    w -= 0.5 * (residual.t().mm(x) + l2 / static_cast<double>(x.size(0)) * w);
    b -= 0.5 * residual.sum(0);
  }
  const Features& test = input.stored.at("test");
  const at::Tensor scores = ((test.values.to(at::kDouble) - mean) / deviation).mm(w.t()) + b;
  return accuracy_within(label_ranks(scores, test.labels), 1);
}

TEST(LowShot, EachDrawHasTheAccuracyOfGradientDescentOnItsRows) {
  const EvaluationInput input = stored_input();
  const EvaluationResult found = evaluated(input, "low_shot", "{shares: [0.05], per_class: [2], draws: 3, l2: 0.5, seed: 4}");
  const std::vector<int64_t>& labels = input.stored.at("train").labels;
  for (const auto& [setting, name] : {std::pair{LowShotSetting{"", 0.05, 0}, "5pct"}, {per_class(2), "2_per_class"}}) {
    const auto& values = found.record.by_draw.at(fmt::format("test.low_shot_acc1_{}", name));
    ASSERT_EQ(values.size(), 3u);
    for (int64_t draw = 0; draw < 3; ++draw) {
      const double expected = reference_accuracy(input, low_shot_rows(labels, setting, draw, 4), 0.5);
      EXPECT_NEAR(values[static_cast<size_t>(draw)], expected, 1.5 / 200) << name << " draw " << draw;  // one image on the boundary
    }
  }
  EXPECT_NE(found.record.by_draw.at("test.low_shot_acc1_2_per_class")[0], found.record.by_draw.at("test.low_shot_acc1_2_per_class")[1]);
  EXPECT_THAT(found.record.drawn, ElementsAre(std::pair("5pct", 15), std::pair("2_per_class", 6)));
}

TEST(LowShot, HasMeanAndStudentsIntervalOverTheDraws) {
  const EvaluationResult found = evaluated(stored_input(), "low_shot", "{shares: [0.02], draws: 5, level: 0.9}");
  const auto& values = found.record.by_draw.at("test.low_shot_acc1_2pct");
  double mean = 0, squares = 0;
  for (const double value : values) mean += value / 5;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double half = 2.131847 * std::sqrt(squares / 4 / 5);  // the 0.95 quantile of 4 degrees of freedom
  ASSERT_GT(half, 0.001);
  EXPECT_DOUBLE_EQ(found.metrics.at("test.low_shot_acc1_2pct"), mean);
  EXPECT_NEAR(found.record.intervals.at("test.low_shot_acc1_2pct").first, mean - half, 1e-6);
  EXPECT_NEAR(found.record.intervals.at("test.low_shot_acc1_2pct").second, mean + half, 1e-6);
  EXPECT_TRUE(evaluated(stored_input(), "low_shot", "{shares: [0.02], draws: 1}").record.intervals.empty());
}

TEST(LowShot, OfAllImagesEveryDrawIsTheSame) {
  const EvaluationResult found = evaluated(stored_input(), "low_shot", "{shares: [1, 0.01]}");
  const auto& all = found.record.by_draw.at("test.low_shot_acc1_100pct");
  EXPECT_THAT(all, testing::Each(all.front()));
  EXPECT_GT(all.front(), found.metrics.at("test.low_shot_acc1_1pct"));
  EXPECT_EQ(found.metrics.at("test.low_shot_acc5_1pct"), 1);  // of three classes
}

TEST(LowShot, TakesItsDefaultsAndTheRunsSeed) {
  EvaluationInput input = stored_input();
  const EvaluationResult found = evaluated(input, "low_shot");
  EXPECT_TRUE(found.metrics.contains("test.low_shot_acc1_1pct"));
  EXPECT_TRUE(found.metrics.contains("test.low_shot_acc1_10pct"));
  EXPECT_EQ(found.record.by_draw.at("test.low_shot_acc1_1pct").size(), 5u);
  input.seed = 2;
  EXPECT_NE(evaluated(input, "low_shot").record.by_draw, found.record.by_draw);
  EXPECT_EQ(evaluated(input, "low_shot", "{seed: 1}").record.by_draw, found.record.by_draw);
}

TEST(LowShot, NeverPredictsAClassWithoutTrainingImages) {
  const auto train = std::make_shared<ToyDataset>(300, 3);
  for (int64_t i = 0; i < 300; ++i) {
    if (train->label(i) == 1) train->set_label(i, kUnknown);
  }
  const EvaluationResult found = evaluated(stored_input(train), "low_shot", "{shares: [1]}");
  EXPECT_LE(found.metrics.at("test.low_shot_acc1_100pct"), 2.0 / 3);  // classes 0 and 2 alone can be right
  EXPECT_GT(found.metrics.at("test.low_shot_acc1_100pct"), 0.4);
  EXPECT_LE(found.metrics.at("test.low_shot_acc5_100pct"), 2.0 / 3);  // nor is it among the first five
}

TEST(LowShot, SaysWhereAShareIsLessThanHalfAnImage) {
  const auto train = std::make_shared<ToyDataset>(300, 3);
  for (int64_t i = 0; i < 300; i += 3) {
    if (i >= 30) train->set_label(i, 1);  // 10 of class 0, 190 of class 1, 100 of class 2
  }
  const EvaluationResult found = evaluated(stored_input(train), "low_shot", "{shares: [0.01, 0.1], draws: 2}");
  EXPECT_THAT(found.notes,
              ElementsAre("low_shot: 1 % of a class is less than half an image in 1 of 3 classes; one image of each is drawn"));
  EXPECT_EQ(details(found)["notes"].size(), 1u);
  EXPECT_THAT(found.record.drawn, ElementsAre(std::pair("1pct", 4), std::pair("10pct", 30)));
}

TEST(LowShot, SaysWhereAFitDoesNotConverge) {
  EXPECT_THAT(evaluated(stored_input(), "low_shot", "{shares: [0.1], draws: 2, iterations: 1}").notes,
              ElementsAre("low_shot: 2 of 2 fits did not converge; raise low_shot.iterations"));
}

TEST(LowShot, RejectsAClassWithFewerImagesBeforeAnythingIsComputed) {
  EvaluationInput input = toy_input();  // 20 of each class
  const auto train = std::make_shared<ToyDataset>(60, 3);
  for (int64_t i = 1; i < 60; i += 3) {
    if (i > 20) train->set_label(i, 2);
  }
  input.train = train;
  const std::string message =
      "low_shot: per_class: 10 images of each class, but class 1 ('class1') of split 'train' of toy has 7; lower per_class";
  const auto& entry = find_entry(protocol_registry(), "low_shot", "protocol");
  EXPECT_EQ(data_error_of([&] { entry.check_data(input, entry.read(options("{per_class: [10, 5]}"))); }), message);
  EXPECT_NO_THROW(entry.check_data(input, entry.read(options("{per_class: [7]}"))));
  EXPECT_EQ(data_error_of([&] { evaluated(input, "low_shot", "{per_class: [10, 5]}"); }), message);
}

TEST(LowShot, RejectsOptionsThatMeanNothing) {
  const auto& entry = find_entry(protocol_registry(), "low_shot", "protocol");
  const auto refusal = [&](const std::string& yaml) { return usage_error_of([&] { entry.read(options(yaml)); }); };
  EXPECT_THAT(refusal("{shares: []}"), HasSubstr("neither shares nor per_class has a number; write e.g. shares: [0.01, 0.1]"));
  EXPECT_THAT(refusal("{shares: [0.1, 0.01, 0.1]}"), HasSubstr("shares: 0.1 is given twice; give it once"));
  EXPECT_THAT(refusal("{per_class: [5, 5]}"), HasSubstr("per_class: 5 is given twice; give it once"));
  for (const char* yaml :
       {"{shares: [0]}", "{shares: [1.1]}", "{per_class: [0]}", "{draws: 0}", "{level: 1}", "{l2: 0}", "{iterations: 0}"}) {
    EXPECT_THAT(refusal(yaml), HasSubstr("out of range")) << yaml;
  }
  EXPECT_NO_THROW(entry.read(options("{shares: [], per_class: [1]}")));
}

TEST(LowShot, RejectsATableOfTrainingRowsAlone) {
  EvaluationInput input = stored_input();
  input.leaves_one_out = true;
  EXPECT_EQ(usage_error_of([&] { evaluated(input, "low_shot"); }),
            "low_shot: the table has training rows alone; add valid or test rows (column split)");
}

}  // namespace low_shot_test
}  // namespace debias
