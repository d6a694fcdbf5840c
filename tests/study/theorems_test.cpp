#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "debias/study/bcl_study.h"
#include "debias/study/estimator_errors.h"
#include "debias/study/population.h"
#include "debias/study/study_results.h"
#include "debias/study/theorems.h"
#include "tests/support/refusals.h"

namespace debias {
namespace theorems_test {

std::vector<TheoremCheck> of(const std::vector<TheoremCheck>& checks, const std::string& statement, const std::string& in_setting = "") {
  std::vector<TheoremCheck> found;
  for (const auto& check : checks) {
    if (check.statement == statement && check.setting.find(in_setting) != std::string::npos) found.push_back(check);
  }
  EXPECT_FALSE(found.empty()) << statement << " " << in_setting;
  return found;
}

TEST(FiniteEmbedding, MeansMix) {
  const auto f = random_classes(5, 7, 4, 0.5, 3);
  for (int64_t x = 0; x < f.size(); ++x) {
    double all = 0, other = 0;
    for (int64_t y = 0; y < f.size(); ++y) {
      EXPECT_GE(f.h(x, y), std::exp(-1.0) * (1 - 1e-12));
      EXPECT_LE(f.h(x, y), std::exp(1.0) * (1 + 1e-12));
      all += f.h(x, y) / 35;
      if (x / 7 != y / 7) other += f.h(x, y) / 28;
    }
    EXPECT_NEAR(f.mean(x), all, 1e-12);
    EXPECT_NEAR(f.mean_negative(x), other, 1e-12);
  }
}

TEST(FiniteEmbedding, DrawsKeepToTheirClasses) {
  const auto f = random_classes(3, 4, 4, 0.5, 3);
  Random random({});
  std::vector<int> met(12);
  for (int i = 0; i < 2000; ++i) {
    EXPECT_EQ(f.draw_positive(5, random) / 4, 1);
    const int64_t other = f.draw_negative(5, random);
    EXPECT_NE(other / 4, 1);
    ++met[static_cast<size_t>(other)];
  }
  for (const int64_t x : {0, 3, 8, 11}) EXPECT_NEAR(met[static_cast<size_t>(x)], 250, 80);
}

TEST(Theorems, CounterexampleOfTheDebiasedPositive) {
  const auto checks = mdb_theorems({});
  const double gaps[] = {1.850, 1.968, 1.997}, bounds[] = {1.983, 0.888, 0.281};
  const auto antipodal = of(checks, "MDB Theorem 2.1", "antipodal");
  ASSERT_EQ(antipodal.size(), 3U);
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(antipodal[i].left, gaps[i], 5e-4);
    EXPECT_NEAR(antipodal[i].right, bounds[i], 5e-4);
    EXPECT_EQ(antipodal[i].verdict, i == 0 ? Verdict::kHolds : Verdict::kFails);
  }
  EXPECT_EQ(of(checks, "MDB Theorem 2.1", "2 random classes")[0].verdict, Verdict::kFails);
  for (const auto& check : of(checks, "MDB Theorem 2.1, corrected")) {
    EXPECT_EQ(check.verdict, Verdict::kHoldsCorrected) << check.setting;
    if (check.setting.find("random") != std::string::npos) {
      EXPECT_LT(check.left, 0.01);
    }
  }
  EXPECT_EQ(of(checks, "MDB Lemma 1")[0].verdict, Verdict::kFails);
  EXPECT_EQ(of(checks, "MDB Lemma 1, corrected")[0].verdict, Verdict::kHoldsCorrected);
}

TEST(Theorems, StatementsOfDebiasedContrastiveLearning) {
  const auto checks = dcl_theorems({});
  const auto ten = of(checks, "DCL Lemma 4", "10 even classes")[0], two = of(checks, "DCL Lemma 4", "2 even classes")[0];
  EXPECT_NEAR(ten.left, 1.6013, 5e-5);
  EXPECT_NEAR(ten.right, 1.6058, 5e-5);
  EXPECT_NEAR(two.left, 0.2948, 5e-5);
  EXPECT_NEAR(two.right, 0.2966, 5e-5);
  for (const std::string statement : {"DCL Lemma 1", "DCL Lemma 2", "DCL Theorem 3", "DCL Theorem 3, end of its proof",
                                      "DCL Theorem 3, by variances", "DCL Lemma A.2", "DCL Lemma 4", "DCL equation 4"}) {
    for (const auto& check : of(checks, statement))
      EXPECT_EQ(check.verdict, Verdict::kHolds) << statement << ", " << check.setting << ": " << check.left << " " << check.right;
  }
  EXPECT_EQ(of(checks, "DCL Lemma 2, last display")[0].verdict, Verdict::kFails);
  EXPECT_EQ(of(checks, "DCL Theorem 5")[0].verdict, Verdict::kOrderOnly);
  const auto slopes = of(checks, "DCL Lemma A.4");
  EXPECT_EQ(slopes[0].verdict, Verdict::kHolds);
  EXPECT_EQ(slopes[1].verdict, Verdict::kFails);
  EXPECT_EQ(slopes[2].verdict, Verdict::kHoldsCorrected);
}

TEST(Theorems, ConsistencyOfTheBayesianForms) {
  const auto checks = bcl_theorems({});
  for (const auto& check : of(checks, "BCL equations 5 and 6")) EXPECT_EQ(check.verdict, Verdict::kHolds);
  EXPECT_EQ(of(checks, "BCL equation 10")[0].verdict, Verdict::kHolds);
  const auto paper = of(checks, "BCL Lemma 3.2"), corrected = of(checks, "BCL Lemma 3.2, corrected");
  EXPECT_EQ(paper[0].verdict, Verdict::kFails);
  EXPECT_NEAR(paper[0].left - paper[0].right, -0.020, 1e-3);
  EXPECT_EQ(paper[1].verdict, Verdict::kHolds);  // alpha = 1/2
  EXPECT_EQ(paper[2].verdict, Verdict::kHolds);  // tau_plus = 1/2
  EXPECT_EQ(corrected[0].verdict, Verdict::kHoldsCorrected);
  EXPECT_EQ(corrected[1].verdict, Verdict::kHoldsCorrected);
  EXPECT_EQ(corrected[2].verdict, Verdict::kFails);  // beta = 1
}

TEST(Theorems, StatementsOfUnbiasedSupervisedContrastiveLearning) {
  const auto checks = usc_theorems({});
  for (const std::string statement : {"USC order of losses", "USC eps-SupCon", "USC equation 17", "USC FairKL"}) {
    for (const auto& check : of(checks, statement))
      EXPECT_EQ(check.verdict, Verdict::kHolds) << check.claim << ": " << check.left << " " << check.right;
  }
  EXPECT_EQ(of(checks, "USC equation 3")[1].verdict, Verdict::kFails);
  for (const auto& check : of(checks, "USC equation 3, corrected")) EXPECT_EQ(check.verdict, Verdict::kHoldsCorrected) << check.claim;
}

TEST(Theorems, SameFiguresForAnyNumberOfThreads) {
  const auto draw = [](Random& random) { return random.normal(); };
  EXPECT_EQ(drawn_mean(1001, {.threads = 1}, 5, draw).mean, drawn_mean(1001, {.threads = 7}, 5, draw).mean);
}

TEST(Theorems, RelationsCanFail) {
  TheoremCheck check{.statement = {}, .claim = {}, .setting = {}, .left = 1, .relation = "<=", .right = 0.9, .error = 0.05};
  EXPECT_TRUE(relation_holds(check));
  check.error = 0.03;
  EXPECT_FALSE(relation_holds(check));
  check.relation = ">=";
  EXPECT_TRUE(relation_holds(check));
  check.relation = "=";
  EXPECT_FALSE(relation_holds(check));
}

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
    EXPECT_THAT(usage_error_of([&] { verify(setting); }), testing::HasSubstr(word));
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

TEST(TheoremsText, HasBothSidesAndTheVerdict) {
  TheoremCheck check;
  check.statement = "Lemma 1";
  check.claim = "left is at most right";
  check.setting = "N = 4";
  check.left = 0.5;
  check.right = 0.75;
  check.error = 0.01;
  check.relation = "<=";
  check.verdict = Verdict::kHolds;
  EXPECT_EQ(theorems_text({check}),
            "Lemma 1: left is at most right\n    N = 4\n    0.5 <= 0.75  (+- 0.01)\n    " + std::string(enum_name(check.verdict)) + "\n");
  check.setting.clear();
  check.verdict = Verdict::kOrderOnly;
  EXPECT_EQ(theorems_text({check}), "Lemma 1: left is at most right\n    " + std::string(enum_name(check.verdict)) + "\n");
}

}  // namespace theorems_test
}  // namespace debias
