// The ranking against all pairs in double, and samples.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "debias/core/philox.h"
#include "debias/data/sample_table.h"
#include "debias/mining/mined_pairs.h"
#include "debias/mining/pair_rows.h"
#include "debias/results/statistics.h"
#include "debias/runtime/unit_rows.h"
#include "tests/support/refusals.h"

namespace debias {
namespace mined_pairs_test {

// `classes` clusters about random directions.
at::Tensor clusters(int64_t n, int64_t classes, int64_t width, double spread) {
  Random draw({.seed = 5});
  at::Tensor centres = at::empty({classes, width}, at::kFloat), rows = at::empty({n, width}, at::kFloat);
  for (int64_t i = 0; i < centres.numel(); ++i) centres.mutable_data_ptr<float>()[i] = static_cast<float>(draw.normal());
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t d = 0; d < width; ++d) {
      rows.mutable_data_ptr<float>()[i * width + d] =
          centres.const_data_ptr<float>()[i % classes * width + d] + static_cast<float>(spread * draw.normal());
    }
  }
  return unit_rows(rows).contiguous();
}

PairRanking ranked(const at::Tensor& unit, double temperature = 0.1, PairRank rank = PairRank::kSimilarity) {
  return {unit, {}, MiningOptions{.rank = rank, .temperature = temperature}, Progress::silent()};
}

TEST(PairRanking, IsThatOfAllPairsInDouble) {
  const int64_t n = 30;  // fewer than the neighbours: every pair is a candidate
  const at::Tensor unit = clusters(n, 5, 8, 0.7);
  const PairRanking ranking = ranked(unit, 0.1, PairRank::kGradient);
  ASSERT_EQ(std::ssize(ranking.pairs()), n * (n - 1) / 2);
  const double t = 0.1, negatives = 2 * 256 - 2;
  const at::Tensor s = at::mm(unit.to(at::kDouble), unit.to(at::kDouble).t());
  const auto weight = [&](int64_t a, int64_t b) {
    double sum = 0;
    for (int64_t j = 0; j < n; ++j) sum += j == a ? 0 : std::exp(s[a][j].item<double>() / t);
    return std::exp(s[a][b].item<double>() / t) / (std::exp(1 / t) + negatives * sum / static_cast<double>(n - 1));
  };
  double last = INFINITY;
  for (const MinedPair& pair : ranking.pairs()) {
    EXPECT_LT(pair.a, pair.b);
    EXPECT_NEAR(pair.cosine, s[pair.a][pair.b].item<double>(), 1e-5);
    EXPECT_NEAR(pair.gradient, (weight(pair.a, pair.b) + weight(pair.b, pair.a)) / 2, 1e-4 * pair.gradient + 1e-12);
    EXPECT_LE(pair.expected_gradient(), last);
    last = pair.expected_gradient();
  }
}

TEST(PairRanking, FindsThePairsOfOneClusterFirst) {
  const at::Tensor unit = clusters(400, 10, 32, 0.5);
  for (const auto& [name, rank] : EnumNames<PairRank>::values) {
    const PairRanking ranking = ranked(unit, 0.1, rank);
    for (size_t i = 0; i < 1000; ++i) {
      const MinedPair& pair = ranking.pairs()[i];
      EXPECT_EQ(pair.a % 10, pair.b % 10) << name;
      EXPECT_GT(pair.false_negative, 0.5) << name;
    }
  }
}

// A lonely anchor spends more of its gradient on its nearest row than a crowded one does on a nearer row.
TEST(PairRanking, IsBySimilarityUnlessAskedForTheGradient) {
  const at::Tensor unit = clusters(300, 3, 8, 1.5);
  const auto falls = [](const PairRanking& ranking) {
    return std::ranges::is_sorted(ranking.pairs(), [](const MinedPair& x, const MinedPair& y) { return x.cosine > y.cosine; });
  };
  EXPECT_TRUE(falls(ranked(unit, 1)));
  EXPECT_FALSE(falls(ranked(unit, 1, PairRank::kGradient)));
}

TEST(PairRanking, DoesNotDependOnTheThreads) {
  const at::Tensor unit = clusters(500, 10, 16, 1);
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const PairRanking one = ranked(unit);
  at::set_num_threads(3);
  const PairRanking three = ranked(unit);
  at::set_num_threads(before);
  ASSERT_EQ(one.pairs().size(), three.pairs().size());
  for (size_t i = 0; i < one.pairs().size(); ++i) {
    EXPECT_EQ(one.pairs()[i].a, three.pairs()[i].a);
    EXPECT_EQ(one.pairs()[i].b, three.pairs()[i].b);
  }
}

TEST(PairRanking, RejectsOneRowAndOptionsOutOfRange) {
  data_error_of([] { ranked(at::ones({1, 4})); });
  usage_error_of([] { ranked(at::ones({4, 4}), 0); });
  usage_error_of([] { MiningOptions{.tau_plus = 1}.check(); });
  usage_error_of([] { MiningOptions{.batch_size = 1}.check(); });
}

TEST(PairRanking, TakesRowsThatAreAllAlike) {
  const PairRanking ranking = ranked(unit_rows(at::ones({5, 4})).contiguous());
  EXPECT_EQ(ranking.pairs().size(), 10u);
  for (const MinedPair& pair : ranking.pairs()) EXPECT_TRUE(std::isfinite(pair.expected_gradient()));
}

// Rows of norm 1 up to rounding, whose products are 1.000002.
TEST(PairRanking, GivesNoCosineBeyondOne) {
  const at::Tensor unit = at::full({6, 1}, 1.000001f);
  const PairRanking ranking = ranked(unit);
  for (const MinedPair& pair : ranking.pairs()) EXPECT_EQ(pair.cosine, 1.0f);
  for (const MinedPair& pair : sampled_pairs(unit, ranking, 5, 1)) EXPECT_EQ(pair.cosine, 1.0f);
}

TEST(SampledPairs, AreDistinctAndUniformOverAllPairs) {
  const int64_t n = 12;
  const at::Tensor unit = clusters(n, 3, 6, 1);
  const PairRanking ranking = ranked(unit);
  std::vector<int64_t> uses(static_cast<size_t>(n));
  for (uint64_t seed = 1; seed <= 600; ++seed) {
    std::set<std::pair<int64_t, int64_t>> seen;
    for (const MinedPair& pair : sampled_pairs(unit, ranking, 11, seed)) {
      EXPECT_LT(pair.a, pair.b);
      EXPECT_EQ(pair.kind, PairKind::kRandom);
      EXPECT_TRUE(seen.emplace(pair.a, pair.b).second);
      ++uses[static_cast<size_t>(pair.a)];
      ++uses[static_cast<size_t>(pair.b)];
    }
  }
  for (const int64_t count : uses) EXPECT_NEAR(static_cast<double>(count), 600 * 11 * 2 / 12.0, 120);  // five standard deviations
  EXPECT_EQ(std::ssize(sampled_pairs(unit, ranking, 1000, 1)), n * (n - 1) / 2);
}

// The sampling design of tau_plus from marks: 200 random pairs of ten equal classes, marked without error, and Wilson's interval.
TEST(SampledPairs, GiveAPriorWhoseIntervalHolds) {
  const int64_t n = 2000;
  const at::Tensor unit = clusters(n, 10, 4, 3);
  const PairRanking ranking = ranked(unit);
  const double prior = (static_cast<double>(n) / 10 - 1) / static_cast<double>(n - 1);  // of two different rows
  int covered = 0;
  for (uint64_t simulation = 1; simulation <= 1000; ++simulation) {
    double same = 0;
    for (const MinedPair& pair : sampled_pairs(unit, ranking, 200, simulation)) same += pair.a % 10 == pair.b % 10 ? 1 : 0;
    const auto [low, high] = wilson_interval({same / 200, 200});
    covered += low <= prior && prior <= high ? 1 : 0;
  }
  EXPECT_GE(covered, 930);
  EXPECT_LE(covered, 985);  // not by being wide
}

// Two clusters of 80 rows, in groups of 40: of a row's 32 nearest, most are of its own group.
TEST(PairRanking, LooksBeyondTheGroupOfARow) {
  at::Tensor rows = clusters(160, 2, 16, 0.5);
  std::vector<int32_t> groups;
  for (int32_t i = 0; i < 160; ++i) groups.push_back(i / 4 * 4 % 8 == 0 ? i % 2 : 2 + i % 2);
  for (int64_t i = 0; i < 160; ++i) rows[i] += 0.3 * at::one_hot(at::tensor(int64_t{groups[static_cast<size_t>(i)]}), 16)[0].to(at::kFloat);
  const at::Tensor unit = unit_rows(rows).contiguous();
  const PairRanking ranking(unit, {}, MiningOptions{}, Progress::silent(), groups);
  ASSERT_GE(ranking.pairs().size(), 2500u);
  for (const MinedPair& pair : ranking.pairs()) EXPECT_NE(groups[static_cast<size_t>(pair.a)], groups[static_cast<size_t>(pair.b)]);
  for (size_t i = 0; i < 500; ++i) EXPECT_EQ(ranking.pairs()[i].a % 2, ranking.pairs()[i].b % 2);  // of one cluster, as without groups
}

// Tables of found pairs.

const NamedRows kFirst = {"train", {"a,b.jpg", "</script><img src=x onerror=alert(1)>.jpg", "c\"d.jpg"}, {0, 1, 0}, {"cat", "dog"}};
const NamedRows kSecond = {"test", {"t0.jpg"}, {kUnknown}, {"cat", "dog"}};
const std::vector<MinedPair> kPairs = {
    {.a = 0, .b = 2, .cosine = 0.5f, .false_negative = 0.25, .gradient = 0.125, .kind = PairKind::kFalseNegative},
    {.a = 0, .b = 1, .cosine = 0.75f, .false_negative = 1, .gradient = 0.5, .kind = PairKind::kDuplicate},
    {.a = 1, .b = 0, .cosine = 1, .false_negative = 1, .gradient = std::nan(""), .kind = PairKind::kLeak}};

TEST(PairRows, AreATableThatReadsBack) {
  EXPECT_EQ(pairs_csv(pair_rows(kPairs, kFirst, kSecond)),
            "a,b,similarity,false_negative,gradient,same_label,kind\n"
            "\"a,b.jpg\",\"c\"\"d.jpg\",0.500000,0.250000,0.125,1,false_negative\n"
            "\"a,b.jpg\",</script><img src=x onerror=alert(1)>.jpg,0.750000,1.000000,0.5,0,duplicate\n"
            "</script><img src=x onerror=alert(1)>.jpg,t0.jpg,1.000000,1.000000,,,leak\n");
}

TEST(PairRows, HaveNumbersForNamesWhereThereAreNone) {
  NamedRows rows = kFirst;
  rows.names.clear();
  EXPECT_EQ(pair_rows(kPairs, rows, rows).front().b, "2");
}

TEST(PairRows, CountTheShareOfOneClassByKind) {
  const auto rows = pair_rows(kPairs, kFirst, kSecond);
  EXPECT_EQ(same_label_share(rows, PairKind::kFalseNegative), 1.0);
  EXPECT_EQ(same_label_share(rows, PairKind::kDuplicate), 0.0);
  EXPECT_EQ(same_label_share(rows, PairKind::kLeak), std::nullopt);
  EXPECT_TRUE(to_json(rows.back())["gradient"].is_null());
}

// The second split has a class that the first one lacks, with a higher number.
TEST(SplitLeaks, OfAClassThatTheFirstSplitLacks) {
  const at::Tensor first = at::tensor({1.f, 0.f, 0.f, 1.f}).view({2, 2}), second = at::tensor({1.f, 0.f, 0.6f, 0.8f}).view({2, 2});
  const NamedRows train = {"train", {}, {0, 1}, {"cat", "dog", "eel"}}, test = {"test", {}, {0, 2}, {"cat", "dog", "eel"}};
  const SplitLeaks leaks = split_leaks({}, first, train, second, test, 0.1);
  EXPECT_EQ(leaks.accuracy, 0.5);
  EXPECT_EQ(leaks.leaked, 0);
}

TEST(SplitLeaks, LeaveRowsOfZerosOutOfTheAccuracy) {
  const at::Tensor first = at::tensor({0.f, 0.f, 0.f, 1.f}).view({2, 2}), second = at::tensor({0.f, 0.f, 0.f, 1.f}).view({2, 2});
  const NamedRows train = {"train", {}, {0, 1}, {"cat", "dog"}}, test = {"test", {}, {0, 1}, {"cat", "dog"}};
  EXPECT_EQ(split_leaks({}, first, train, second, test, 0.1).accuracy, 1.0);
}

TEST(SplitLeaks, CountsByClassAndTakesLeakedRowsOutOfTheAccuracy) {
  // Two classes on two axes; the second split has a leaked row that is right and one of another class's place that is wrong.
  const at::Tensor first = at::tensor({1.f, 0.f, 0.f, 1.f}).view({2, 2}), second = at::tensor({1.f, 0.f, 1.f, 0.1f}).view({2, 2});
  const NamedRows train = {"train", {}, {0, 1}, {"cat", "dog"}}, test = {"test", {}, {0, 1}, {"cat", "dog"}};
  const SplitLeaks leaks = split_leaks({{.a = 0, .b = 0, .kind = PairKind::kLeak}}, first, train, second, test, 0.1);
  EXPECT_EQ(leaks.leaked, 1);
  EXPECT_EQ(leaks.rows, 2);
  ASSERT_EQ(leaks.classes.size(), 2u);
  EXPECT_EQ(leaks.classes[0].leaked, 1);
  EXPECT_EQ(leaks.classes[1].leaked, 0);
  EXPECT_EQ(leaks.accuracy, 0.5);
  EXPECT_EQ(leaks.accuracy_without, 0.0);
  const NamedRows unknown = {"test", {}, {kUnknown, kUnknown}, {}};
  EXPECT_EQ(split_leaks({}, first, train, second, unknown, 0.1).accuracy, std::nullopt);
}

}  // namespace mined_pairs_test
}  // namespace debias
