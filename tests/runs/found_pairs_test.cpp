// Pairs of a feature table by the library.
#include "debias/runs/found_pairs.h"

#include "debias/core/philox.h"
#include "debias/data/sample_table.h"
#include "tests/runs/trained_run.h"

namespace debias::found_pairs_test {

constexpr int64_t kRows = 60, kDimensions = 8;

// Rows of noise, of which 1 repeats 0, and 40 of the split test repeats 2 of train.
class TableOfPairs : public testing::Test {
 protected:
  TableOfPairs() {
    Random random(RngKey{RngDomain::kTest, 5});
    std::vector<float> values(kRows * kDimensions);
    for (float& value : values) value = static_cast<float>(random.normal());
    std::copy_n(values.begin(), kDimensions, values.begin() + kDimensions);
    std::copy_n(values.begin() + 2 * kDimensions, kDimensions, values.begin() + 40 * kDimensions);
    write_npy(files_.vectors, DType::kFloat32, {kRows, kDimensions}, values.data());
    std::ofstream csv(files_.csv);
    csv << "path,label,split\n";
    for (int64_t i = 0; i < kRows; ++i) csv << "i" << i << ".png," << (i % 2 == 0 ? "cat" : "dog") << (i < 40 ? ",train\n" : ",test\n");
  }
  FoundPairs found(const PairRequest& request, const SplitPair& splits = {}) const {
    const PairSource source = pairs_of_table(files_, {}, "", splits, Log::silent());
    return find_pairs(request, mining_options(request, source), source, Progress::silent(), Log::silent());
  }
  TemporaryFolder folder_;
  FeatureTableFiles files_{.vectors = folder_ / "z.npy", .csv = folder_ / "z.csv"};
};

TEST_F(TableOfPairs, ReportsACopyOnceAndNotAmongTheFalseNegatives) {
  const FoundPairs all = found({.top = 5});
  EXPECT_EQ(all.searched, 40);
  const auto is_copy = [](const PairRow& row) { return row.a == "i0.png" && row.b == "i1.png"; };
  ASSERT_EQ(std::ranges::count_if(all.rows, is_copy), 1);
  EXPECT_EQ(std::ranges::find_if(all.rows, is_copy)->pair.kind, PairKind::kDuplicate);
  EXPECT_EQ(std::ranges::count(all.rows, PairKind::kFalseNegative, [](const PairRow& row) { return row.pair.kind; }), 5);
  EXPECT_FALSE(all.on_pixels);
}

TEST_F(TableOfPairs, ReportsAnImageOfBothSplitsAsALeak) {
  const FoundPairs all = found({}, {"train", "test"});
  const auto leak = std::ranges::find(all.rows, PairKind::kLeak, [](const PairRow& row) { return row.pair.kind; });
  ASSERT_NE(leak, all.rows.end());
  EXPECT_EQ(leak->a, "i2.png");
  EXPECT_EQ(leak->b, "i40.png");
  ASSERT_TRUE(all.leaks);
  EXPECT_EQ(all.leaks->leaked, 1);
  EXPECT_EQ(to_json(all, pairs_of_table(files_, {}, "", {"train", "test"}, Log::silent())).at("leaks").at("rows"), 20);
}

TEST_F(TableOfPairs, KeepsSplitsAndNamesWithoutLabels) {
  const TableRowOptions none{.label = "none"};
  const PairSource source = pairs_of_table(files_, none, "", {"train", "test"}, Log::silent());
  EXPECT_EQ(source.first.values.size(0), 40);
  ASSERT_TRUE(source.second);
  EXPECT_EQ(source.second->values.size(0), 20);
  EXPECT_EQ(source.second->rows.name(0), "i40.png");
  EXPECT_EQ(source.second->rows.labels, std::vector<int64_t>(20, kUnknown));
  const FoundPairs all = find_pairs({.top = 5}, mining_options({}, source), source, Progress::silent(), Log::silent());
  const auto count_of = [&](PairKind kind) { return std::ranges::count(all.rows, kind, [](const PairRow& row) { return row.pair.kind; }); };
  EXPECT_EQ(count_of(PairKind::kDuplicate), 1);
  EXPECT_EQ(count_of(PairKind::kLeak), 1);
}

TEST_F(TableOfPairs, TakesSplitsWithoutNamesAndRejectsOthers) {
  const auto source = [&](const std::string& title, const std::string& last) {
    std::ofstream csv(files_.csv);
    csv << title << "\n";
    for (int64_t i = 0; i < kRows; ++i) csv << (i + 1 == kRows ? last : i < 40 ? "train" : "test") << "\n";
    csv.close();
    return pairs_of_table(files_, TableRowOptions{.label = "none"}, "", {"train", "test"}, Log::silent());
  };
  EXPECT_EQ(source("split", "test").second->rows.name(0), "40");
  EXPECT_THAT(data_error_of([&] { source("split", "tset"); }), HasSubstr("line 61: unknown split 'tset'; did you mean 'test'?"));
  EXPECT_THAT(usage_error_of([&] { source("site", "test"); }), HasSubstr("--leaks needs the column split"));
}

// More copies than a row has neighbours in the search, of two labels and in both splits, each a little different.
TEST_F(TableOfPairs, JoinsAllCopiesHoweverManyAndRanksOneOfThem) {
  constexpr int64_t kAll = 400, kCopied = 100;
  Random random(RngKey{RngDomain::kTest, 6});
  std::vector<float> values(kAll * kDimensions);
  for (float& value : values) value = static_cast<float>(random.normal());
  for (int64_t i = 1; i < kCopied; ++i) {
    for (int64_t d = 0; d < kDimensions; ++d)
      values[static_cast<size_t>(i * kDimensions + d)] = values[static_cast<size_t>(d)] * (1 + 1e-4f * static_cast<float>(random.normal()));
  }
  write_npy(files_.vectors, DType::kFloat32, {kAll, kDimensions}, values.data());
  std::ofstream csv(files_.csv);
  csv << "path,label,split\n";
  for (int64_t i = 0; i < kAll; ++i)
    csv << "i" << i << ".png," << (i % 2 == 0 ? "cat" : "dog") << (i >= 85 && i < 160 ? ",test\n" : ",train\n");
  csv.close();
  const PairSource source = pairs_of_table(files_, {}, "", {"train", "test"}, Log::silent());
  const FoundPairs all = find_pairs({.top = 500}, mining_options({}, source), source, Progress::silent(), Log::silent());
  ASSERT_FALSE(all.copies.empty());
  EXPECT_EQ(std::ssize(all.copies[0].rows), kCopied);
  EXPECT_TRUE(all.copies[0].labels_conflict);
  ASSERT_TRUE(all.leaks);
  EXPECT_GE(all.leaks->leaked, 15);
  const auto is_copy = [](const std::string& name) { return std::stoi(name.substr(1)) < kCopied; };
  for (const PairRow& row : all.rows) {
    if (row.pair.kind != PairKind::kFalseNegative) continue;
    EXPECT_FALSE(is_copy(row.a) && is_copy(row.b)) << row.a << " " << row.b;
  }
  const std::string groups = groups_csv(all, source);
  EXPECT_THAT(groups, testing::StartsWith("path,group,split\ni0.png,0,train\ni1.png,0,train\n"));
  EXPECT_THAT(groups, HasSubstr("\ni99.png,0,test\n"));
}

TEST_F(TableOfPairs, DrawsARandomSampleInTheirPlace) {
  const FoundPairs sample = found({.sample = 7});
  ASSERT_EQ(sample.rows.size(), 7u);
  EXPECT_TRUE(std::ranges::all_of(sample.rows, [](const PairRow& row) { return row.pair.kind == PairKind::kRandom; }));
}

TEST_F(TableOfPairs, RejectsAPriorThatIsNoProbability) {
  EXPECT_THAT(usage_error_of([&] { found({.tau_plus = 1.5}); }), HasSubstr("tau_plus"));
}

}  // namespace debias::found_pairs_test
