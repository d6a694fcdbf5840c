// What becomes of published differences: four outcomes, and how often chance alone would make one of them.
#include "debias/report/tables/table_differences.h"
#include "tests/report/seed_table_fixture.h"

namespace debias::table_outcomes_test {

struct PublishedAs {
  double value = 0, spread = 0;
  std::optional<int64_t> runs = 3;
};

TableRow row_of(const std::string& variant, const std::vector<double>& values, const PublishedAs& published, int first_seed = 1) {
  TableRow row;
  row.label = row.variant = variant;
  row.metric = "test.acc1";
  row.unit = Unit::kShare;
  row.values = values;
  for (size_t i = 0; i < values.size(); ++i) row.seeds.push_back(std::to_string(first_seed + static_cast<int>(i)));
  row.interval = seed_interval(values);
  row.published = Published{.value = published.value, .spread = published.spread, .runs = published.runs};
  return row;
}

TableDifference ordering(const PublishedAs& a, const PublishedAs& b, const std::vector<double>& ours_a, const std::vector<double>& ours_b) {
  const auto found = ordering_of({row_of("a", ours_a, a), row_of("b", ours_b, b)});
  EXPECT_EQ(found.size(), 1u);
  return found.at(0);
}

const std::vector<double> kLow = {0.50, 0.52, 0.51}, kHigh = {0.60, 0.63, 0.61};

TEST(Outcomes, OfAConclusivePaperAreConfirmedContradictedOrInconclusive) {
  const PublishedAs better{0.9, 0.01}, worse{0.8, 0.01};
  EXPECT_EQ(ordering(better, worse, kHigh, kLow).published->outcome, Outcome::kConfirmed);
  EXPECT_EQ(ordering(better, worse, kLow, kHigh).published->outcome, Outcome::kContradicted);
  EXPECT_EQ(ordering(better, worse, {0.5, 0.6, 0.7}, {0.6, 0.5, 0.65}).published->outcome, Outcome::kInconclusive);
  EXPECT_EQ(ordering(better, worse, {0.6}, {0.5}).published->outcome, Outcome::kInconclusive);  // one seed
  EXPECT_EQ(*ordering(better, worse, kHigh, kLow).published->conclusive, true);
}

// USC Table 3 at 0.997: 96.19 +- 0.23 and 95.75 +- 0.16 of three trials; scipy's Welch test has p = 0.0637.
TEST(Outcomes, OfADifferenceThatThePaperCannotTellAreInconclusiveInPaper) {
  const TableDifference found = ordering({0.9619, 0.0023}, {0.9575, 0.0016}, kHigh, kLow);
  EXPECT_EQ(*found.published->conclusive, false);
  EXPECT_EQ(found.published->outcome, Outcome::kInconclusiveInPaper);
  EXPECT_NEAR(*found.published->spread, std::sqrt(0.0023 * 0.0023 + 0.0016 * 0.0016), 1e-15);
  EXPECT_NEAR(found.published->mean, 0.0044, 1e-12);
  // And of 25.82 +- 0.33 and 23.12 +- 1.07, p = 0.0389.
  EXPECT_EQ(*ordering({0.2582, 0.0033}, {0.2312, 0.0107}, kHigh, kLow).published->conclusive, true);
}

TEST(Outcomes, OfANumberWithoutSpreadOrRunsGoByOursAlone) {
  const TableDifference found = ordering({0.9, 0.5, std::nullopt}, {0.8, 0.5}, kHigh, kLow);
  EXPECT_FALSE(found.published->conclusive);
  EXPECT_EQ(found.published->outcome, Outcome::kConfirmed);
  EXPECT_FALSE(ordering({0.9, 0.5, 1}, {0.8, 0.5}, kHigh, kLow).published->conclusive);  // one run has no spread
}

TEST(Outcomes, AreAdjustedForTheNumberOfComparisons) {
  // p = 0.0385, 0.0293 and 0.001 alone; the first two are 0.0586 by Holm.
  const auto found = ordering_of({row_of("a", {0.60, 0.63, 0.61}, {0.9, 0.001}), row_of("b", {0.546, 0.604, 0.57}, {0.8, 0.001}),
                                  row_of("c", {0.50, 0.52, 0.51}, {0.7, 0.001})});
  ASSERT_EQ(found.size(), 3u);
  std::vector<double> p;
  for (const auto& difference : found) p.push_back(difference.interval.p);
  std::ranges::sort(p);
  for (const auto& difference : found) {
    EXPECT_GE(difference.p_holm, difference.interval.p);
    if (difference.interval.p == p[0]) {
      EXPECT_NEAR(difference.p_holm, 3 * p[0], 1e-12);
    }
  }
  const OutcomeCounts raw = outcome_counts(found, &PublishedDifference::outcome),
                      holm = outcome_counts(found, &PublishedDifference::outcome_holm);
  EXPECT_EQ(raw[0].second, 3);
  EXPECT_EQ(holm[0].second, 1);
  EXPECT_EQ(holm[2].second, 2);
}

TEST(Outcomes, ArePairedFromThreeCommonSeedsOnAndElseOfAllSeeds) {
  // Two common seeds of five each: paired, one degree of freedom would leave the difference open; scipy's Welch test has p = 0.0166.
  const std::vector<double> a = {0.42, 0.44, 0.47, 0.40, 0.45}, b = {0.47, 0.46, 0.49, 0.48, 0.51};
  const auto of_two = ordering_of({row_of("a", a, {0.9, 0.001}), row_of("b", b, {0.8, 0.001}, 4)});
  EXPECT_FALSE(of_two.at(0).paired);
  EXPECT_EQ(of_two[0].interval.n, 5);
  EXPECT_NEAR(of_two[0].interval.p, 0.016610224263668878, 1e-10);
  const auto of_three = ordering_of({row_of("a", a, {0.9, 0.001}), row_of("b", b, {0.8, 0.001}, 3)});
  EXPECT_TRUE(of_three.at(0).paired);
  EXPECT_EQ(of_three[0].interval.n, 3);
}

// Both settings are published as the mean of three runs with a spread of 0.01: 0.9 and 0.8 differ, 0.9 and 0.89 do not.
TEST_F(SeedTables, TestThePublishedDifferenceToo) {
  for (int seed = 1; seed <= 3; ++seed) {
    add({.variant = "a", .seed = std::to_string(seed), .accuracy = 0.7 + 0.001 * seed, .published = 0.9, .also_published = ", runs: 3"});
  }
  for (int seed = 1; seed <= 3; ++seed)
    add({.variant = "b", .seed = std::to_string(seed), .accuracy = 0.6 + 0.002 * seed, .published = 0.8, .also_published = ", runs: 3"});
  for (int seed = 1; seed <= 3; ++seed)
    add({.variant = "c", .seed = std::to_string(seed), .accuracy = 0.5 + 0.003 * seed, .published = 0.89, .also_published = ", runs: 3"});
  const auto json = to_json(table());
  ASSERT_EQ(json["differences"].size(), 2u);
  const auto& b = json["differences"][0];
  EXPECT_NEAR(b["published"]["mean"].get<double>(), -0.1, 1e-12);
  EXPECT_NEAR(b["published"]["spread"].get<double>(), 0.01 * std::sqrt(2), 1e-12);
  EXPECT_EQ(b["published"]["conclusive"], true);
  EXPECT_EQ(b["outcome"], "confirmed");
  EXPECT_LE(b["p"].get<double>(), b["p_holm"].get<double>());
  EXPECT_EQ(json["differences"][1]["published"]["conclusive"], false);
  EXPECT_EQ(json["differences"][1]["outcome"], "inconclusive_in_paper");
  EXPECT_EQ(json["rows"][0]["expected_runs"], 3);
  EXPECT_EQ(json["ordering"].size(), 3u);
  EXPECT_EQ(json["ordering_counts"]["raw"]["inconclusive_in_paper"], 1);
  EXPECT_EQ(json["ordering_counts"]["raw"]["contradicted"], 1);  // c above b
}

// Tables in which no two settings differ, but the paper's do.
struct Chance {
  double orderings = 0;    // share of all orderings that are confirmed or contradicted, each by its own test
  double tables = 0;       // share of tables with one or more of these
  double tables_holm = 0;  // the same, adjusted
};

Chance simulated(bool same_seeds, const std::vector<double>& deviations) {
  constexpr int kTables = 1500, kSeeds = 3;
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  const auto is_decided = [](Outcome outcome) { return outcome == Outcome::kConfirmed || outcome == Outcome::kContradicted; };
  int decided = 0, all = 0, tables = 0, tables_holm = 0;
  for (int table = 0; table < kTables; ++table) {
    std::vector<double> of_seed(kSeeds);
    for (auto& value : of_seed) value = 0.7 + 0.02 * normal(random);
    std::vector<TableRow> rows;
    for (size_t i = 0; i < deviations.size(); ++i) {
      std::vector<double> values;
      for (const double mean : of_seed) values.push_back((same_seeds ? mean : 0.7) + deviations[i] * normal(random));
      rows.push_back(
          row_of(std::to_string(i), values, {0.5 + 0.1 * static_cast<double>(i), 0.001}, same_seeds ? 1 : 1 + 10 * static_cast<int>(i)));
    }
    bool any = false, any_holm = false;
    for (const auto& difference : ordering_of(rows)) {
      ++all;
      decided += is_decided(difference.published->outcome);
      any = any || is_decided(difference.published->outcome);
      any_holm = any_holm || is_decided(difference.published->outcome_holm);
    }
    tables += any;
    tables_holm += any_holm;
  }
  return {static_cast<double>(decided) / all, static_cast<double>(tables) / kTables, static_cast<double>(tables_holm) / kTables};
}

constexpr double kLevel = 0.05, kThreeErrors = 0.017;  // 3 sqrt(0.05 0.95 / 1500)

TEST(OutcomesByChance, AreAtMostTheLevelForPairedSeeds) {
  const Chance found = simulated(true, {0.01, 0.01, 0.01, 0.01, 0.01});
  EXPECT_NEAR(found.orderings, kLevel, 0.01);
  EXPECT_GT(found.tables, 0.2);  // what the adjustment is for
  EXPECT_LE(found.tables_holm, kLevel + kThreeErrors);
}

TEST(OutcomesByChance, AreAtMostTheLevelForOtherSeedsAndUnequalSpreads) {
  const Chance found = simulated(false, {0.01, 0.02, 0.01, 0.03, 0.02});
  EXPECT_LE(found.orderings, kLevel + 0.01);
  EXPECT_GT(found.orderings, 0.02);
  EXPECT_LE(found.tables_holm, kLevel + kThreeErrors);
}

}  // namespace debias::table_outcomes_test
