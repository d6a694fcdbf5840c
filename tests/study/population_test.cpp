#include "debias/study/population.h"

#include <gtest/gtest.h>

#include <cmath>

#include "debias/study/bcl_study.h"
#include "debias/study/estimator_errors.h"
#include "tests/support/refusals.h"

namespace debias {
namespace population_test {

constexpr SampleClass kClasses[] = {SampleClass::kTrueNegative, SampleClass::kFalseNegative};

std::vector<double> drawn(DrawMethod sampler, SampleClass of, double alpha, int count) {
  Random random({.seed = 3, .step = static_cast<uint16_t>(sampler)});
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(draw_phi(sampler, of, alpha, random));
  return values;
}

TEST(Population, SamplersFollowTheClosedForm) {
  for (const double alpha : {0.5, 0.7, 1.0}) {
    for (const auto of : kClasses) {
      const auto law = [&](double phi) { return class_distribution(of, alpha, phi); };
      for (const auto sampler : {DrawMethod::kInversion, DrawMethod::kAcceptReject}) {
        EXPECT_GT(kolmogorov_smirnov(drawn(sampler, of, alpha, 20000), law).p_value, 1e-3) << alpha;
      }
      const auto both =
          kolmogorov_smirnov(drawn(DrawMethod::kInversion, of, alpha, 20000), drawn(DrawMethod::kAcceptReject, of, alpha, 20000));
      EXPECT_GT(both.p_value, 1e-3) << alpha;
    }
  }
}

TEST(Population, KolmogorovSmirnovTellsTheClassesApart) {
  const auto a = drawn(DrawMethod::kInversion, SampleClass::kTrueNegative, 0.6, 5000);
  const auto b = drawn(DrawMethod::kInversion, SampleClass::kFalseNegative, 0.6, 5000);
  EXPECT_LT(kolmogorov_smirnov(a, b).p_value, 1e-6);
  EXPECT_LT(kolmogorov_smirnov(a, [](double phi) { return phi; }).p_value, 1e-6);
}

TEST(Population, ClassMeansAreTheIntegrals) {
  EXPECT_NEAR(class_mean(SampleClass::kTrueNegative, 0.9, {-0.5, 0.5}, 0.5), 0.8809, 5e-5);
  for (const auto of : kClasses) {
    for (const auto& proposal : {Proposal{-0.5, 0.5}, Proposal{-4, 4}, Proposal{0.1, 0.1001}}) {
      double integral = 0;
      constexpr int kSteps = 200000;
      for (int i = 0; i < kSteps; ++i) {
        const double phi = (i + 0.5) / kSteps;
        integral += class_density(of, 0.8, phi) * std::exp((proposal.low + (proposal.high - proposal.low) * phi) / 0.5) / kSteps;
      }
      EXPECT_NEAR(class_mean(of, 0.8, proposal, 0.5) / integral, 1, 1e-6);
    }
  }
}

TEST(Population, SampledMeansAreTheClosedForms) {
  Population population{
      .reading = ProposalReading::kCode, .sampler = DrawMethod::kAcceptReject, .alpha = 0.8, .gamma = 0, .tau_plus = 0.4, .temperature = 1};
  AnchorSample sample;
  draw_anchor(population, 400000, 400000, {.seed = 1}, sample);
  double sums[2] = {}, counts[2] = {}, positives = 0;
  for (size_t i = 0; i < sample.values.size(); ++i) {
    sums[static_cast<size_t>(sample.of[i])] += sample.values[i];
    ++counts[static_cast<size_t>(sample.of[i])];
  }
  for (const double value : sample.positives) positives += value / 400000;
  EXPECT_NEAR(counts[1] / 400000, 0.4, 0.004);
  EXPECT_NEAR(sums[0] / counts[0], sample.expected_negative, 1e-2 * sample.expected_negative);
  EXPECT_NEAR(sums[1] / counts[1], sample.expected_positive, 1e-2 * sample.expected_positive);
  EXPECT_NEAR(positives, sample.expected_positive, 1e-2 * sample.expected_positive);
}

TEST(Population, ProposalsByBothReadings) {
  Random random({});
  for (int i = 0; i < 1000; ++i) {
    const Proposal text = draw_proposal({.gamma = 0.1}, random);
    EXPECT_TRUE(text.low >= -0.6 && text.low <= -0.4 && text.high >= 0.4 && text.high <= 0.6);
    const Proposal code = draw_proposal({.reading = ProposalReading::kCode, .gamma = 0.25}, random);
    EXPECT_TRUE(code.low >= -4 && code.low <= -3 && code.high >= 3 && code.high <= 4);
    const Proposal clipped = draw_proposal({.gamma = 0.1, .temperature = 2}, random);
    EXPECT_TRUE(clipped.low == -0.25 && clipped.high == 0.25);
  }
}

TEST(Population, ImpossibleParametersAreRefused) {
  const auto refused = [](auto change, const std::string& word) {
    BclSetting setting;
    change(setting);
    const std::string message = usage_error_of([&] { verify(setting); });
    EXPECT_NE(message.find(word), std::string::npos) << message << " without " << word;
  };
  refused([](BclSetting& s) { s.population.alpha = 0.4; }, "alpha");
  refused([](BclSetting& s) { s.population.alpha = NAN; }, "alpha");
  refused([](BclSetting& s) { s.population.tau_plus = 1; }, "tau_plus");
  refused([](BclSetting& s) { s.population.tau_plus = -0.1; }, "tau_plus");
  refused([](BclSetting& s) { s.population.gamma = 0.5; }, "empty");
  refused([](BclSetting& s) { s.negatives = 0; }, "negatives");
  refused([](BclSetting& s) { s.beta = -1; }, "beta");
  BclSetting whole;
  whole.population.reading = ProposalReading::kCode;
  whole.population.gamma = 1;
  EXPECT_NO_THROW(verify(whole));
}

}  // namespace population_test
}  // namespace debias
