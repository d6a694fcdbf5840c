// Estimates of tau_plus against priors that are known: hand values, coverage of the intervals in simulation, bad input.
#include "debias/evaluate/class_prior.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "debias/core/error.h"
#include "debias/data/dataset.h"
#include "tests/evaluate/toy.h"
#include "tests/support/refusals.h"

namespace debias {
namespace class_prior_test {

using Prior = std::vector<double>;

Prior uniform(size_t classes) { return Prior(classes, 1.0 / static_cast<double>(classes)); }

Prior geometric(size_t classes, double ratio) {
  Prior prior(classes);
  for (size_t c = 0; c < classes; ++c) prior[c] = std::pow(ratio, c);
  const double sum = std::accumulate(prior.begin(), prior.end(), 0.0);
  for (double& p : prior) p /= sum;
  return prior;
}

double truth(const Prior& prior) { return std::inner_product(prior.begin(), prior.end(), prior.begin(), 0.0); }

std::vector<int64_t> draw_labels(const Prior& prior, int64_t count, std::mt19937_64& random) {
  std::discrete_distribution<int64_t> draw(prior.begin(), prior.end());
  std::vector<int64_t> labels(static_cast<size_t>(count));
  for (auto& label : labels) label = draw(random);
  return labels;
}

// Rows around their class's own direction. Two views of an image are two draws of its class (the assumption of the bound), or with
// `of_image` < `of_class` draws around the image, which is one of its class.
struct Spread {
  double of_class, of_image;
};

at::Tensor draw_views(const Prior& prior, int64_t count, Spread spread, std::mt19937_64& random) {
  const auto D = static_cast<int64_t>(prior.size());
  const std::vector<int64_t> labels = draw_labels(prior, count, random);
  std::normal_distribution<float> normal;
  at::Tensor rows = at::empty({count, 2, D}, at::kFloat);
  float* x = rows.mutable_data_ptr<float>();
  for (int64_t i = 0; i < count; ++i) {
    std::vector<float> centre(static_cast<size_t>(D));
    for (auto& value : centre) value = static_cast<float>(spread.of_class) * normal(random);
    centre[labels[i]] += 1;
    for (int64_t v = 0; v < 2; ++v) {
      if (spread.of_image == 0) {  // an independent draw of the class
        for (auto& value : centre) value = static_cast<float>(spread.of_class) * normal(random);
        centre[labels[i]] += 1;
      }
      for (const float value : centre) *x++ = value + static_cast<float>(spread.of_image) * normal(random);
    }
  }
  return rows;
}

TEST(ClassPrior, PairsOfLabelsThatAgreeAreCountedWithoutReplacement) {
  const PriorEstimate found = class_prior_from_labels({0, 0, 0, 1, 1, 7, kUnknown});
  EXPECT_DOUBLE_EQ(found.tau_plus, 8.0 / 30);  // (3 * 2 + 2 * 1) of 6 * 5
  EXPECT_EQ(found.images, 6);
  EXPECT_EQ(found.classes, 3);
  EXPECT_LT(found.low, found.tau_plus);
  EXPECT_GT(found.high, found.tau_plus);
  EXPECT_DOUBLE_EQ(class_prior_from_labels({4, 4}).tau_plus, 1);
  EXPECT_DOUBLE_EQ(class_prior_from_labels({4, 5}).tau_plus, 0);
}

// p_c = (4, 2) / 8 and two pseudo-labels of 1 / 8 each: squares 22 / 64, cubes 74 / 512.
TEST(ClassPrior, TheIntervalOfLabelsIsThatOfItsVariance) {
  const PriorEstimate found = class_prior_from_labels({0, 0, 0, 0, 1, 1});
  const double squares = 22.0 / 64, cubes = 74.0 / 512;
  const double variance = (4 * 4 * (cubes - squares * squares) + 2 * (squares - squares * squares)) / 30;
  EXPECT_DOUBLE_EQ(found.tau_plus, 14.0 / 30);
  EXPECT_NEAR(found.low, std::max(0.0, 14.0 / 30 - 1.96 * std::sqrt(variance)), 1e-12);
  EXPECT_NEAR(found.high, 14.0 / 30 + 1.96 * std::sqrt(variance), 1e-12);
}

TEST(ClassPrior, IntervalsOfLabelsCoverThePrior) {
  std::mt19937_64 random(5);
  const std::vector<Prior> priors = {uniform(2), uniform(10), uniform(100), {0.9, 0.1}, {0.6, 0.4}, {0.99, 0.01}, geometric(10, 0.6)};
  for (const Prior& prior : priors) {
    for (const int64_t n : {100, 1000}) {
      constexpr int kSamples = 1000;
      int covered = 0;
      double sum = 0;
      for (int i = 0; i < kSamples; ++i) {
        const PriorEstimate found = class_prior_from_labels(draw_labels(prior, n, random));
        covered += found.low <= truth(prior) && truth(prior) <= found.high;
        sum += found.tau_plus;
      }
      EXPECT_GE(covered, kSamples * 0.92) << prior.size() << " classes, " << n << " labels";
      EXPECT_NEAR(sum / kSamples, truth(prior), 0.02 * truth(prior)) << prior.size() << " classes, " << n << " labels";
    }
  }
}

TEST(ClassPrior, ALargerSampleOfLabelsHasAShorterInterval) {
  std::mt19937_64 random(6);
  const PriorEstimate few = class_prior_from_labels(draw_labels(geometric(10, 0.6), 100, random));
  const PriorEstimate many = class_prior_from_labels(draw_labels(geometric(10, 0.6), 10000, random));
  EXPECT_LT(many.high - many.low, 0.2 * (few.high - few.low));
}

// Where classes lie apart the smallest ratio is the prior itself, so that every miss of a bound would show.
TEST(ClassPrior, TheBoundOfViewsIsNotBelowThePriorBeyondItsLevel) {
  std::mt19937_64 random(7);
  for (const Prior& prior : {uniform(10), geometric(10, 0.6), Prior{0.9, 0.1}}) {
    for (const double spread : {0.05, 0.4}) {
      constexpr int kSamples = 100;
      int missed = 0;
      for (int i = 0; i < kSamples; ++i) {
        missed += class_prior_from_views(draw_views(prior, 150, {spread, 0}, random)).high < truth(prior);
      }
      EXPECT_LE(missed, kSamples * 0.05) << prior.size() << " classes, prior " << truth(prior) << ", spread " << spread;
    }
  }
}

TEST(ClassPrior, TheBoundOfViewsIsTightWhereClassesLieApart) {
  std::mt19937_64 random(8);
  for (const Prior& prior : {uniform(10), geometric(10, 0.6)}) {
    const PriorEstimate found = class_prior_from_views(draw_views(prior, 4000, {0.05, 0}, random));
    EXPECT_NEAR(found.tau_plus, truth(prior), 0.1 * truth(prior));
    EXPECT_LT(found.high, 1.5 * truth(prior));
    EXPECT_EQ(found.low, 0);
    EXPECT_EQ(found.images, 4000);
  }
}

// The direction that the header warns of.
TEST(ClassPrior, ViewsMoreAlikeThanTheirClassPullTheBoundBelowThePrior) {
  std::mt19937_64 random(9);
  EXPECT_LT(class_prior_from_views(draw_views(uniform(10), 2000, {0.5, 0.02}, random)).high, 0.5 * truth(uniform(10)));
}

TEST(ClassPrior, AnEncoderThatKnowsNothingBoundsNothing) {
  std::mt19937_64 random(10);
  const PriorEstimate found = class_prior_from_views(draw_views(uniform(10), 500, {30, 0}, random));
  EXPECT_GT(found.high, 0.9);
  EXPECT_LE(found.high, 1);
  EXPECT_LE(found.tau_plus, 1);
}

TEST(ClassPrior, TheOrderOfTheImagesSortedByClassDoesNoHarm) {
  std::mt19937_64 random(11);
  at::Tensor rows = draw_views(uniform(10), 1000, {0.05, 0}, random);
  rows = rows.index_select(0, rows.select(1, 0).argmax(1).argsort());
  EXPECT_NEAR(class_prior_from_views(rows).tau_plus, 0.1, 0.02);
}

TEST(ClassPrior, MistakesAreNamed) {
  EXPECT_EQ(data_error_of([] { class_prior_from_labels({kUnknown, 3}); }), "prior: 1 of 2 labels are known; it needs at least two");
  const auto refusal = [](const at::Tensor& views) { return data_error_of([&] { class_prior_from_views(views); }); };
  EXPECT_EQ(refusal(at::ones({100, 1, 4})), "prior: 1 view of each image; without labels it needs at least two");
  EXPECT_EQ(refusal(at::ones({49, 2, 4})), "prior: views of 49 images; without labels it needs at least 50");
  EXPECT_THAT(refusal(at::rand({100, 1, 4}).expand({100, 2, 4})), testing::HasSubstr("same features"));
  at::Tensor rows = at::rand({100, 2, 4});
  rows[3][1][2] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(error_of(ErrorKind::kNumeric, [&] { class_prior_from_views(rows); }),
            "prior: a row is not finite; check the encoder's weights");
}

TEST(ClassPrior, TheJsonSaysHowAndUnderWhichAssumptions) {
  const auto labels = to_json(class_prior_from_labels({0, 0, 1}));
  EXPECT_EQ(labels["method"], "labels");
  EXPECT_EQ(labels["classes"], 2);
  EXPECT_EQ(labels["assumptions"].size(), 1u);
  std::mt19937_64 random(12);
  const auto views = to_json(class_prior_from_views(draw_views(uniform(4), 100, {0.1, 0}, random)));
  EXPECT_EQ(views["method"], "views");
  EXPECT_TRUE(views.contains("threshold"));
  EXPECT_THAT(views["assumptions"][1].get<std::string>(), testing::HasSubstr("the bound is then too low"));
}

}  // namespace class_prior_test
}  // namespace debias
