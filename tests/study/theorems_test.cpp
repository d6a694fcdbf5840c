#include "debias/study/theorems.h"

#include <gtest/gtest.h>

#include <cmath>

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

}  // namespace theorems_test
}  // namespace debias
