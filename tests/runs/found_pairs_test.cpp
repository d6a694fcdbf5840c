// Pairs of a feature table by the library.
#include "debias/runs/found_pairs.h"

#include <set>

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
    const PairSource source = pairs_of_table(files_, {}, "", splits);
    return find_pairs(request, mining_options(request, source), source, Progress::silent());
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
  EXPECT_THAT(all.notes,
              testing::Contains("20 of 60 rows are of other splits than train and not searched: add --leaks train:test or train:valid"));
}

TEST_F(TableOfPairs, ReportsAnImageOfBothSplitsAsALeak) {
  const FoundPairs all = found({}, {"train", "test"});
  const auto leak = std::ranges::find(all.rows, PairKind::kLeak, [](const PairRow& row) { return row.pair.kind; });
  ASSERT_NE(leak, all.rows.end());
  EXPECT_EQ(leak->a, "i2.png");
  EXPECT_EQ(leak->b, "i40.png");
  ASSERT_TRUE(all.leaks);
  EXPECT_EQ(all.leaks->leaked, 1);
  EXPECT_EQ(to_json(all, pairs_of_table(files_, {}, "", {"train", "test"})).at("leaks").at("rows"), 20);
}

TEST_F(TableOfPairs, KeepsSplitsAndNamesWithoutLabels) {
  const TableRowOptions none{.label = "none"};
  const PairSource source = pairs_of_table(files_, none, "", {"train", "test"});
  EXPECT_EQ(source.first.values.size(0), 40);
  ASSERT_TRUE(source.second);
  EXPECT_EQ(source.second->values.size(0), 20);
  EXPECT_EQ(source.second->rows.name(0), "i40.png");
  EXPECT_EQ(source.second->rows.labels, std::vector<int64_t>(20, kUnknown));
  const FoundPairs all = find_pairs({.top = 5}, mining_options({}, source), source, Progress::silent());
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
    return pairs_of_table(files_, TableRowOptions{.label = "none"}, "", {"train", "test"});
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
  const PairSource source = pairs_of_table(files_, {}, "", {"train", "test"});
  const FoundPairs all = find_pairs({.top = 500}, mining_options({}, source), source, Progress::silent());
  ASSERT_FALSE(all.copies.empty());
  EXPECT_EQ(std::ssize(all.copies[0].rows), kCopied);
  EXPECT_TRUE(all.copies[0].labels_conflict);
  ASSERT_TRUE(all.leaks);
  EXPECT_EQ(all.leaks->leaked, 15);
  EXPECT_EQ(all.leaks->copies, 15);
  EXPECT_THAT(
      all.verdict,
      testing::StartsWith("1 image with copies of different labels; 15 of 75 rows of test leak from train; 99 of 400 rows are copies"));
  EXPECT_THAT(
      all.notes,
      testing::Contains("1 image has copies with different labels, the first is 'i0.png' (cat 50, dog 50): correct them before training"));
  EXPECT_THAT(all.notes,
              testing::Contains(
                  "100 images are one image, the first of them 'i0.png': keep one, or keep them together with --groups-out groups.csv"));
  const auto json = to_json(all, source);
  EXPECT_EQ(json["groups"], 301);
  EXPECT_EQ(json["groups_from"], "near-copies");
  EXPECT_EQ(json["notes"].size(), all.notes.size());
  const auto is_copy = [](const std::string& name) { return std::stoi(name.substr(1)) < kCopied; };
  for (const PairRow& row : all.rows) {
    if (row.pair.kind != PairKind::kFalseNegative) continue;
    EXPECT_FALSE(is_copy(row.a) && is_copy(row.b)) << row.a << " " << row.b;
  }
  const std::string groups = groups_csv(all, source);
  EXPECT_THAT(groups, testing::StartsWith("path,group,split\ni0.png,0,train\ni1.png,0,train\n"));
  EXPECT_THAT(groups, HasSubstr("\ni99.png,0,test\n"));
}

// Three rows of each patient; the first two patients of test are in train too, and one row has none.
class PatientsOfPairs : public TableOfPairs {
 protected:
  PatientsOfPairs() { write("patient"); }
  void write(const std::string& title) const {
    std::ofstream csv(files_.csv);
    csv << "path,label,split," << title << "\n";
    for (int64_t i = 0; i < kRows; ++i) {
      csv << "i" << i << ".png," << (i % 2 == 0 ? "cat" : "dog") << (i < 40 ? ",train" : ",test");
      if (i == 59) {
        csv << ",\n";
      } else {
        csv << ",p" << (i >= 40 && i < 46 ? (i - 40) / 3 + 5 : i / 3) << "\n";
      }
    }
  }
  PairSource grouped(const std::vector<std::string>& group, const std::string& label = "") const {
    return pairs_of_table(files_, {.label = label}, "", {"train", "test"}, group);
  }
  FoundPairs found_in(const PairSource& source) const {
    return find_pairs({.top = 2000}, mining_options({}, source), source, Progress::silent());
  }
};

TEST_F(PatientsOfPairs, AreNoFalseNegativesOfEachOtherAndLeakAcrossSplits) {
  const PairSource source = grouped({"patient"});
  const FoundPairs all = found_in(source);
  EXPECT_EQ(all.groups.from, "column patient");
  const auto patient = [](const std::string& name) { return std::stoi(name.substr(1)) / 3; };
  int64_t within = 0;
  for (const PairRow& row : all.rows) within += row.pair.kind == PairKind::kFalseNegative && patient(row.a) == patient(row.b) ? 1 : 0;
  EXPECT_EQ(within, 0);
  // i40 repeats i2; patients 5 and 6 have rows 40 to 45 of test, so that 6 rows leak, one of them a copy. Row 39 of train is of patient 13.
  ASSERT_TRUE(all.leaks);
  EXPECT_EQ(all.leaks->leaked, 6);
  EXPECT_EQ(all.leaks->copies, 1);
  EXPECT_EQ(all.leaks->shared_groups, 2);
  EXPECT_EQ(std::ranges::count(all.rows, PairKind::kLeak, [](const PairRow& row) { return row.pair.kind; }), 6);
  EXPECT_THAT(all.notes,
              testing::Contains(HasSubstr(
                  "2 groups of column patient are in train and in test, the first with 'i0.png' of train and 'i41.png' of test")));
  const std::set<int32_t> numbers(all.groups.of_row.begin(), all.groups.of_row.end());
  EXPECT_EQ(std::ssize(numbers), all.groups.count);
  EXPECT_EQ(all.groups.of_row[0], all.groups.of_row[40]);
  EXPECT_EQ(to_json(all, source)["groups_from"], "column patient");
}

TEST_F(PatientsOfPairs, AreReadFromTheColumnGroupByItselfAndWithoutLabels) {
  EXPECT_FALSE(grouped({}).groups);
  write("group");
  for (const char* label : {"", "none"}) {
    ASSERT_TRUE(grouped({}, label).groups) << label;
    EXPECT_EQ(grouped({}, label).groups->from, "column group");
    EXPECT_EQ(grouped({"group"}, label).groups->of_row, grouped({}, "").groups->of_row);
  }
  EXPECT_NE(grouped({}).groups->of_row[58], grouped({}).groups->of_row[59]);
}

TEST_F(PatientsOfPairs, AreOfAColumnThatIsThereAndHasNoOtherRole) {
  EXPECT_THAT(usage_error_of([&] { grouped({"patiant"}); }),
              HasSubstr("there is no column 'patiant' for --group; did you mean 'patient'?"));
  EXPECT_THAT(usage_error_of([&] { grouped({"label"}); }), HasSubstr("column 'label' has a role of its own"));
}

// 60 rows of 20 patients, each in one class.
TEST_F(TableOfPairs, ProposesAColumnThatNamesGroups) {
  std::ofstream csv(files_.csv);
  csv << "path,label,patient\n";
  for (int64_t i = 0; i < kRows; ++i) csv << "i" << i << ".png," << (i / 3 % 2 == 0 ? "cat" : "dog") << ",p" << i / 3 << "\n";
  csv.close();
  const auto notes = [&](const std::vector<std::string>& group) { return pairs_of_table(files_, {}, "", {}, group).notes; };
  EXPECT_THAT(notes({}), testing::Contains(HasSubstr("add --group patient")));
  EXPECT_THAT(notes({"patient"}), testing::Not(testing::Contains(HasSubstr("--group"))));
}

TEST_F(TableOfPairs, LeavesRowsOfZerosOutAndCountsThem) {
  std::vector<float> values(kRows * kDimensions);
  Random random(RngKey{RngDomain::kTest, 5});
  for (float& value : values) value = static_cast<float>(random.normal());
  std::fill_n(values.begin() + 3 * kDimensions, 2 * kDimensions, 0.0f);
  write_npy(files_.vectors, DType::kFloat32, {kRows, kDimensions}, values.data());
  const FoundPairs all = found({.top = 2000});
  for (const PairRow& row : all.rows) {
    for (const std::string& name : {row.a, row.b}) EXPECT_TRUE(name != "i3.png" && name != "i4.png") << name;
  }
  EXPECT_THAT(all.notes, testing::Contains(HasSubstr("2 rows of zeros are left out, the first is 'i3.png'")));
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
