#include "debias/fix/fix.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ranges>

#include "debias/fix/cross_validation.h"
#include "debias/fix/fit_rows.h"
#include "debias/fix/fixed_evaluation.h"
#include "debias/fix/fixed_text.h"
#include "tests/fix/gaussian_table.h"
#include "tests/support/refusals.h"

namespace debias {
namespace fix_test {

using testing::AllOf;
using testing::HasSubstr;

FixResult fixed(const FeatureTable& table, FixMethod method = FixMethod::kAuto) {
  return fix(table, FixOptions{.method = method}, Progress::silent());
}

double metric(const FixedEvaluation& evaluation, const std::string& name) { return evaluation.groups.metrics.at("test." + name); }

FixedEvaluations evaluated(const FeatureTable& table, const FixResult& result) {
  return evaluate_fixed(table, result, 1, Progress::silent());
}

TEST(Fix, AutoImprovesTheWorstGroupWhereTheBiasMisleads) {
  const GaussianTable made({.correlation = 0.95});
  const FeatureTable table = made.open();
  const FixResult result = fixed(table);
  EXPECT_TRUE(result.changed);
  const FixedEvaluations found = evaluated(table, result);
  EXPECT_GE(metric(found.after, "worst_group_acc"), metric(found.before, "worst_group_acc") + 0.1);
  EXPECT_GE(metric(found.after, "conflicting_acc"), metric(found.before, "conflicting_acc") + 0.05);
}

// 12 groups of a few rows are conflicting; the four aligned groups are what a correction pays with.
TEST(Fix, AutoCorrectsWhereEachConflictingGroupIsSmall) {
  const GaussianTable made({.train = 1600, .test = 1600, .classes = 4, .correlation = 0.95, .class_signal = 1, .bias_signal = 4});
  const FeatureTable table = made.open();
  const FixResult result = fixed(table);
  EXPECT_TRUE(result.changed);
  const FixedEvaluations found = evaluated(table, result);
  EXPECT_GE(metric(found.after, "worst_group_acc"), metric(found.before, "worst_group_acc") + 0.1);
}

TEST(Fix, AutoCorrectsWithAHandfulOfConflictingRows) {
  for (const uint64_t seed : {1, 2, 3}) {
    const GaussianTable made(
        {.train = 1600, .test = 1600, .classes = 4, .correlation = 0.99, .class_signal = 1.5, .bias_signal = 3, .seed = seed});
    const FeatureTable table = made.open();
    const FixResult result = fixed(table);
    EXPECT_TRUE(result.changed) << seed;
    const FixedEvaluations found = evaluated(table, result);
    EXPECT_GE(metric(found.after, "conflicting_acc"), metric(found.before, "conflicting_acc") + 0.02) << seed;
  }
}

TEST(Fix, AutoIsNotBelowThePlainHeadWhereFeaturesDoNotShowTheBias) {
  for (const uint64_t seed : {1, 2, 3}) {
    for (const double correlation : {0.95, 0.99}) {
      const GaussianTable made({.correlation = correlation, .class_signal = 2.5, .bias_signal = 0, .seed = seed});
      const FeatureTable table = made.open();
      const FixedEvaluations found = evaluated(table, fixed(table));
      EXPECT_GE(metric(found.after, "acc1"), metric(found.before, "acc1") - 0.01) << seed << " " << correlation;
    }
  }
}

// Of each group of training rows the sum of balanced weights, by class.
std::map<int64_t, std::map<int64_t, double>> balanced_sums(const FitRows& rows) {
  std::map<int64_t, std::map<int64_t, double>> sums;
  for (size_t i = 0; i < rows.labels.size(); ++i) {
    if (rows.groups[i] != kUnknown) sums[rows.labels[i]][rows.groups[i]] += rows.balanced[static_cast<int64_t>(i)].item<double>();
  }
  return sums;
}

TEST(Fix, AGroupOfOneRowWeighsAsMuchAsAnyOtherOfItsClass) {
  const GaussianTable made({.train = 300, .test = 30, .classes = 3, .correlation = 0.99});
  const FeatureTable table = made.open();
  const std::vector<int64_t> places = table.of_split(TableSplit::kTrain);
  const JointBias bias = joint_bias(table.rows);
  const BiasGroups groups = bias_groups(table.rows, bias, places);
  const FitRows rows = fit_rows(StandardRows(table.vectors, places), table.rows, bias, groups, places);
  EXPECT_NE(std::ranges::find(groups.count, 1), groups.count.end());
  for (const auto& [label, of_class] : balanced_sums(rows)) {
    for (const auto& [group, sum] : of_class) EXPECT_NEAR(sum, 100.0 / static_cast<double>(of_class.size()), 1e-9) << group;
  }
}

TEST(Fix, AClassOfOneBiasLabelIsNotRareInTheBalance) {
  for (const uint64_t seed : {1, 2, 3}) {
    const GaussianTable made({.train = 2100,
                              .test = 2100,
                              .classes = 7,
                              .correlation = 0.7,
                              .class_signal = 2.5,
                              .seed = seed,
                              .one_bias_in_first_class = true});
    const FeatureTable table = made.open();
    const FixedEvaluations found = evaluated(table, fixed(table));
    EXPECT_GE(metric(found.after, "acc1"), metric(found.before, "acc1") - 0.01) << seed;
    EXPECT_GE(metric(found.after, "worst_group_acc"), metric(found.before, "worst_group_acc") - 0.1) << seed;
  }
}

TEST(Fix, AutoIsNotBelowThePlainHeadWhereTheBiasIsIndependent) {
  for (const uint64_t seed : {1, 2, 3}) {
    const GaussianTable made({.correlation = 1.0 / 3, .seed = seed});
    const FeatureTable table = made.open();
    const FixedEvaluations found = evaluated(table, fixed(table));
    EXPECT_GE(metric(found.after, "acc1"), metric(found.before, "acc1") - 0.01) << seed;
  }
}

TEST(Fix, EveryMethodGivesFiniteHeadsAndItsName) {
  const GaussianTable made({.train = 400, .test = 400, .correlation = 0.7});
  const FeatureTable table = made.open();
  for (const auto& [name, method] : EnumNames<FixMethod>::values) {
    if (method == FixMethod::kAuto) continue;
    const FixResult result = fixed(table, method);
    EXPECT_EQ(result.method, method) << name;
    EXPECT_EQ(result.changed, method != FixMethod::kErm) << name;
    EXPECT_TRUE(at::isfinite(result.after.head.weight).all().item<bool>()) << name;
    const bool erases = method == FixMethod::kErase || method == FixMethod::kEraseBalanced || method == FixMethod::kLeace;
    EXPECT_EQ(result.after.layer.rank() > 0, erases) << name;
    EXPECT_GT(metric(evaluated(table, result).after, "acc1"), 0.34) << name;
  }
}

// A head and its layer read features and corrected features alike (fixed.onnx relies on it).
TEST(FixedText, HasAccuraciesWithIntervalsAndWhatWasDone) {
  const GaussianTable made({.train = 400, .test = 400});
  const FeatureTable table = made.open();
  const FixResult result = fixed(table, FixMethod::kBalanced);
  const FixedEvaluations evaluations = evaluated(table, result);
  const FixedOutcome outcome{table, {}, result, evaluations, 1.25, "0"};
  const std::string text = fixed_text(outcome, "out", {.verbose = true});
  const double before = 100 * metric(evaluations.before, "acc1");
  EXPECT_THAT(text, HasSubstr(fmt::format("before  test    {:5.1f} [", before)));
  EXPECT_THAT(text, HasSubstr("\nafter   test  "));
  EXPECT_THAT(text, testing::StartsWith("out: corrected by balanced in 1.2 s; out/fix.log says why\n"));
  const std::string brief = fixed_text(outcome, "out", {.bar = "#"});
  EXPECT_THAT(brief,
              testing::StartsWith("out: corrected by balanced in 1.2 s; out/fix.log says why\n% correct, test          before  after\n"));
  EXPECT_THAT(brief,
              HasSubstr(fmt::format("\nall                       {:5.1f}  {:5.1f} ##", before, 100 * metric(evaluations.after, "acc1"))));
  EXPECT_THAT(brief, HasSubstr("\nbias-conflicting "));
  EXPECT_LE(std::ranges::count(brief, '\n'), kShortText);
  EXPECT_THAT(fixed_text(outcome, "out", {}), testing::Not(HasSubstr("#")));
  EXPECT_THAT(fixed_text({table, {}, fixed(table, FixMethod::kErm), evaluations, 1, "0"}, "out", {}), HasSubstr("out: nothing is changed"));
}

TEST(Fix, HeadsReadCorrectedFeaturesLikeTheFeaturesThemselves) {
  const GaussianTable made({.train = 400, .test = 100});
  const FeatureTable table = made.open();
  for (const FixMethod method : {FixMethod::kErase, FixMethod::kEraseBalanced, FixMethod::kLeace}) {
    const FixedModel model = fixed(table, method).after;
    const at::Tensor x = at::randn({50, table.vectors.dimensions()}, at::kDouble) * 4;
    const at::Tensor own = at::addmm(model.head.bias, x, model.head.weight.t());
    const at::Tensor corrected = at::addmm(model.head.bias, model.layer.apply(x), model.head.weight.t());
    EXPECT_LE((own - corrected).abs().max().item<double>(), 1e-6) << enum_name(method);
  }
}

TEST(Fix, LeaceWarnsWhereLabelAndBiasGoTogether) {
  const GaussianTable made({.train = 400, .test = 100});
  const FeatureTable table = made.open();
  EXPECT_THAT(fixed(table, FixMethod::kLeace).notes, testing::Contains(AllOf(HasSubstr("Cramer's V 0.9"), HasSubstr("--method auto"))));
  const GaussianTable independent({.train = 400, .test = 100, .correlation = 1.0 / 3});
  EXPECT_THAT(fixed(independent.open(), FixMethod::kLeace).notes, testing::Not(testing::Contains(HasSubstr("Cramer's V"))));
}

TEST(Fix, IsTheSameForAnyNumberOfThreads) {
  const GaussianTable made({.train = 700, .test = 100});
  const FeatureTable table = made.open();
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const FixResult one = fixed(table, FixMethod::kEraseBalanced);
  for (const int other : {2, 4}) {
    at::set_num_threads(other);
    const FixResult result = fixed(table, FixMethod::kEraseBalanced);
    EXPECT_TRUE(at::equal(result.after.head.weight, one.after.head.weight)) << other;
    EXPECT_TRUE(at::equal(result.after.layer.left, one.after.layer.left)) << other;
    EXPECT_EQ(result.log, one.log) << other;
  }
  at::set_num_threads(threads);
}

TEST(Fix, TakesSeveralBiasColumnsNumericOnesAndUnknownValues) {
  const GaussianTable made({.train = 600, .test = 300});
  Random random({.domain = RngDomain::kTest, .seed = 5});
  const FeatureTable plain = made.open();
  made.write_rows("label,bias,camera,age,split", plain.size(), [&](size_t i) {
    return fmt::format("{},{},{},{},{}", plain.rows.labels[i], i % 50 == 7 ? "" : std::to_string(plain.rows.columns[0].values[i]),
                       i % 2 == 0 ? "left" : "right", random.uniform(20, 70), enum_name(plain.rows.splits[i]));
  });
  const FeatureTable table = made.open(TableRowOptions{.biases = {{"bias", "camera", "age"}}, .numeric = {"age"}});
  const FixResult result = fixed(table, FixMethod::kEraseBalanced);
  EXPECT_EQ(result.after.layer.rank(), 2 + 1 + 1);
  EXPECT_THAT(result.notes, testing::Contains(HasSubstr("12 of 600 training rows have no bias label")));
  EXPECT_THAT(result.notes, testing::Contains(HasSubstr("bias column 'camera' is not associated with the class")));
  EXPECT_EQ(result.bias.name, "bias");  // the erasure is of all three
  EXPECT_EQ(result.bias.names.size(), 3u);
}

// Rows that contradict a column of no meaning are half of all.
TEST(Fix, AutoCorrectsBesideAColumnThatIsIndependent) {
  const GaussianTable made({.correlation = 0.95});
  const FeatureTable plain = made.open();
  made.write_rows("label,bias,camera,split", plain.size(), [&](size_t i) {
    return fmt::format("{},{},{},{}", plain.rows.labels[i], plain.rows.columns[0].values[i], i * 7919 % 13 < 7 ? "left" : "right",
                       enum_name(plain.rows.splits[i]));
  });
  const FeatureTable table = made.open(TableRowOptions{.biases = {{"bias", "camera"}}});
  const FixResult result = fixed(table);
  EXPECT_TRUE(result.changed);
  const FixedEvaluations found = evaluated(table, result);
  EXPECT_GE(metric(found.after, "worst_group_acc"), metric(found.before, "worst_group_acc") + 0.1);
}

// Rows that lack the label of a column without a meaning are left out of the erasure alone.
TEST(Fix, AnUnknownLabelElsewhereLeavesTheBalanceAsItIs) {
  const GaussianTable made({.train = 600, .test = 0});
  const FeatureTable plain = made.open();
  made.write_rows("label,bias,camera", plain.size(), [&](size_t i) {
    const int64_t y = plain.rows.labels[i], b = plain.rows.columns[0].values[i];
    return fmt::format("{},{},{}", y, b, y != b && i % 10 != 0 ? "" : i * 7919 % 13 < 7 ? "left" : "right");
  });
  const FeatureTable table = made.open(TableRowOptions{.biases = {{"bias", "camera"}}});
  const std::vector<int64_t> places = table.of_split(TableSplit::kTrain);
  const GroupingColumns columns = grouping_columns(table.rows, places);
  ASSERT_EQ(columns.used.size(), 1u);
  const JointBias bias = joint_bias(table.rows, columns.used);
  const BiasGroups groups = bias_groups(table.rows, bias, places);
  const FitRows rows = fit_rows(StandardRows(table.vectors, places), table.rows, bias, groups, places);
  std::map<int64_t, std::pair<double, double>> weight;
  std::map<int64_t, double> erased_of_class;  // of each of its groups that have rows with both columns
  for (size_t i = 0; i < places.size(); ++i) {
    weight[rows.groups[i]].first += rows.balanced[static_cast<int64_t>(i)].item<double>();
    weight[rows.groups[i]].second += rows.erased[static_cast<int64_t>(i)].item<double>();
  }
  for (const auto& [group, sums] : weight) {
    EXPECT_NEAR(sums.first, 600.0 / static_cast<double>(weight.size()), 1e-9) << group;
    if (sums.second == 0) continue;
    EXPECT_NEAR(erased_of_class.emplace(group / groups.biases, sums.second).first->second, sums.second, 1e-9) << group;
  }
  EXPECT_THAT(fixed(table, FixMethod::kErase).notes, testing::Contains(HasSubstr("have an unknown bias column: erasure leaves them out")));
}

// A second column that is the bias but for one row in ten: with equal weights of all pairs of values, single rows would count as much as
// hundreds.
class NoisyCopy : public testing::Test {
 protected:
  explicit NoisyCopy() {
    const FeatureTable plain = made_.open();
    made_.write_rows("label,bias,copy,split", plain.size(), [&](size_t i) {
      const int64_t b = plain.rows.columns[0].values[i], other = static_cast<int64_t>(i) / 10 % 4;
      return fmt::format("{},{},{},{}", plain.rows.labels[i], b, i % 10 == 0 ? other : b, i < 2000 ? "train" : "test");
    });
  }

  const GaussianTable made_{{.train = 2000, .test = 2000, .classes = 4, .correlation = 0.95, .class_signal = 1.2, .bias_signal = 3}};
};

TEST_F(NoisyCopy, EachColumnIsBalancedByItself) {
  const FeatureTable table = made_.open(TableRowOptions{.biases = {{"bias", "copy"}}});
  const std::vector<int64_t> places = table.of_split(TableSplit::kTrain);
  const JointBias bias = joint_bias(table.rows);
  const FitRows rows = fit_rows(StandardRows(table.vectors, places), table.rows, bias, bias_groups(table.rows, bias, places), places);
  for (const size_t column : {0, 1}) {
    std::map<std::pair<int64_t, int64_t>, double> sums;  // by class and value
    for (size_t i = 0; i < places.size(); ++i) {
      const int64_t joint = bias.values[static_cast<size_t>(places[i])];
      sums[{rows.labels[i], bias.parts[static_cast<size_t>(joint)][column]}] += rows.balanced[static_cast<int64_t>(i)].item<double>();
    }
    ASSERT_EQ(sums.size(), 16u);
    for (const auto& [place, sum] : sums) EXPECT_NEAR(sum, 2000.0 / 16, 2) << place.first << ", " << place.second;
  }
}

TEST_F(NoisyCopy, CostsLittle) {
  const auto conflicting = [&](const TableRowOptions& options) {
    const FeatureTable table = made_.open(options);
    FixResult result = fixed(table, FixMethod::kBalanced);
    const JointBias bias = joint_bias(table.rows, {table.rows.biases.front()});
    result.groups = bias_groups(table.rows, bias, table.of_split(TableSplit::kTrain));  // of the bias, in both
    result.bias = bias;
    return metric(evaluated(table, result).after, "conflicting_acc");
  };
  EXPECT_GE(conflicting(TableRowOptions{.biases = {{"bias", "copy"}}}), conflicting(TableRowOptions{.biases = {{"bias"}}}) - 0.02);
}

TEST(Fix, GroupsAreOfAllColumnsThatAreAssociated) {
  const GaussianTable made({.train = 600, .test = 0});
  const FeatureTable plain = made.open();
  made.write_rows("label,bias,side", plain.size(), [&](size_t i) {
    const bool goes_along = i % 5 != 0;
    return fmt::format("{},{},{}", plain.rows.labels[i], plain.rows.columns[0].values[i],
                       (plain.rows.labels[i] == 0) == goes_along ? "left" : "right");
  });
  const FixResult result = fixed(made.open(TableRowOptions{.biases = {{"bias", "side"}}}));
  EXPECT_EQ(result.bias.name, "bias, side");
  EXPECT_THAT(result.bias.names, testing::Contains(HasSubstr(", left")));
}

TEST(Fix, AColumnOfMeasuredNumbersAsksForNumeric) {
  const GaussianTable made({.train = 300, .test = 0});
  Random random({.domain = RngDomain::kTest, .seed = 5});
  made.write_rows("label,age", 300, [&](size_t i) { return fmt::format("{},{}", i % 3, random.uniform(20, 70)); });
  const TableRowOptions age{.biases = {{"age"}}};
  EXPECT_THAT(usage_error_of([&] { fixed(made.open(age)); }),
              HasSubstr("has 300 values in 300 training rows; if they are numbers, add --numeric age"));
  EXPECT_NO_THROW(fixed(made.open({.biases = {{"age"}}, .numeric = {"age"}}), FixMethod::kBalanced));
}

// 160 patients of 8 rows: in folds of rows a head knows each patient.
class Patients : public testing::Test {
 protected:
  void write(const std::string& title) const {
    const FeatureTable plain = made_.open();
    made_.write_rows("label,bias," + title + ",split", plain.size(), [&](size_t i) {
      return fmt::format("{},{},p{},{}", plain.rows.labels[i], plain.rows.columns[0].values[i], i / 8, enum_name(plain.rows.splits[i]));
    });
  }

  const GaussianTable made_{{.train = 1280,
                             .test = 1280,
                             .classes = 2,
                             .dimensions = 60,
                             .correlation = 0.85,
                             .class_signal = 1.5,
                             .bias_signal = 4,
                             .patient = 8,
                             .patient_effect = 1.5}};
};

TEST_F(Patients, FoldsOfPatientsFindTheBiasAndWhatTheyPromiseHolds) {
  write("patient");
  const TableRowOptions by_patient{.groups = {{"patient"}}};
  const FeatureTable table = made_.open(by_patient);
  const FixResult result = fixed(table);
  EXPECT_EQ(result.units.from, "column patient");
  EXPECT_EQ(result.units.count, 320);
  EXPECT_TRUE(result.changed);
  const auto right = [&](const FixResult& one) {
    int64_t count = 0;
    for (size_t i = 0; i < one.folds.places.size(); ++i) {
      count += one.folds.before[i] == table.rows.labels[static_cast<size_t>(one.folds.places[i])];
    }
    return static_cast<double>(count) / static_cast<double>(one.folds.places.size());
  };
  EXPECT_LT(right(result), right(fixed(made_.open())) - 0.03);
  const FixedEvaluations found = evaluated(table, result);
  EXPECT_GT(metric(found.after, "conflicting_acc"), metric(found.before, "conflicting_acc"));
  const auto width = [&](const FixedEvaluations& all) {
    const auto& [low, high] = all.before.groups.record.intervals.at("test.acc1");
    return high - low;
  };
  FixResult of_rows = result;
  of_rows.units = single_rows(table.size());
  EXPECT_GT(width(found), 1.5 * width(evaluated(made_.open(), of_rows)));
}

// Features without a signal, and conflicting rows of eight patients: a strong penalty leaves the classes' shares of weight, which must not
// depend on who is held out.
TEST(CrossValidation, WeighsGroupsEquallyWithoutThePatientsOfAFold) {
  const GaussianTable made({.train = 960, .test = 0, .classes = 2, .correlation = 0.93, .class_signal = 0, .bias_signal = 0, .patient = 8});
  const FeatureTable table = made.open();
  const std::vector<int64_t> training = table.of_split(TableSplit::kTrain);
  const JointBias bias = joint_bias(table.rows);
  const BiasGroups groups = bias_groups(table.rows, bias, training);
  std::vector<int32_t> patients;
  for (const int64_t i : training) patients.push_back(static_cast<int32_t>(i / 8));
  const FoldRows folds = folds_of_groups(fold_rows(groups.of_row, 1), groups.of_row, patients, 1);
  const FitRows rows = fit_rows(StandardRows(table.vectors, folds.places), table.rows, bias, groups, folds.places);
  const GroupScorer scorer(rows.groups, {false, true, true, false});
  CrossValidation heads(rows, folds, scorer, folds.size());
  const auto scored = heads.scored({{.method = FixMethod::kBalanced, .C = 1e-5}});
  EXPECT_NEAR(scored.front().scores.mean, 0.5, 0.15);  // of chance; 0.25 where each fold's heads lean to the classes outside it
}

TEST_F(Patients, AColumnThatNamesThemIsProposed) {
  write("patient");
  EXPECT_THAT(fixed(made_.open()).notes,
              testing::Contains(
                  AllOf(HasSubstr("'patient' has 160 values in 1280 rows, each in one class"), HasSubstr("add --group patient"))));
}

TEST_F(Patients, AColumnTitledGroupIsUsed) {
  write("group");
  EXPECT_EQ(fixed(made_.open()).units.from, "column group");
}

TEST(Fix, GroupsThatLeaveAClassInOneAreRefusedOrSaid) {
  const GaussianTable made({.train = 300, .test = 0});
  const FeatureTable plain = made.open();
  made.write_rows("label,bias,group", 300, [&](size_t i) {
    return fmt::format("{},{},{}", plain.rows.labels[i], plain.rows.columns[0].values[i], plain.rows.labels[i]);
  });
  const FixResult result = fixed(made.open());
  EXPECT_EQ(result.units.from, "none");
  EXPECT_THAT(result.notes, testing::Contains(HasSubstr("column group is not used: class '0' is in one group of it")));
  const FeatureTable named = made.open({.groups = {{"group"}}});
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { fix(named, {}, Progress::silent(), true); }),
              HasSubstr("class '0' is in one group of column group"));
}

TEST(Fix, FewerGroupsThanFoldsAreEnough) {
  const GaussianTable made({.train = 300, .test = 300});
  const FeatureTable plain = made.open();
  made.write_rows("label,bias,site,split", 600, [&](size_t i) {
    return fmt::format("{},{},s{},{}", plain.rows.labels[i], plain.rows.columns[0].values[i], i / 3 % 3, i < 300 ? "train" : "test");
  });
  const FixResult result = fixed(made.open({.groups = {{"site"}}}));
  EXPECT_EQ(result.units.count, 3);
  EXPECT_THAT(result.notes, testing::Contains(HasSubstr("3 groups of column site are in both train and test, the first 's1'")));
}

TEST(Fix, CopiesAreKeptInOneFoldAndSaid) {
  const GaussianTable made({.train = 600, .test = 0});
  const FeatureTable plain = made.open();
  std::vector<float> values(static_cast<size_t>(600 * plain.vectors.dimensions()));
  plain.vectors.read(0, 600, values.data());
  const auto D = static_cast<size_t>(plain.vectors.dimensions());
  for (size_t i = 300; i < 600; ++i) {  // near-copies of the first half, whose classes are the same
    for (size_t d = 0; d < D; ++d) values[i * D + d] = values[(i - 300) * D + d] * (i % 2 == 0 ? 1.0F : 1.002F);
  }
  write_npy(made.vectors(), DType::kFloat32, {600, static_cast<int64_t>(D)}, values.data());
  const FixResult result = fixed(made.open());
  EXPECT_EQ(result.units.from, "near-copies");
  EXPECT_EQ(result.units.count, 300);
  EXPECT_THAT(result.notes,
              testing::Contains(HasSubstr("600 training rows are copies or near-copies of 300 sources, the first 'r0' and 'r300'")));
  EXPECT_EQ(fixed(GaussianTable({.train = 600, .test = 0}).open()).units.from, "none");
}

TEST(Fix, AutoChangesNothingWhereTheBiasIsIndependent) {
  for (const uint64_t seed : {1, 2, 3, 4, 5, 6, 7, 8}) {
    const GaussianTable made({.train = 600, .correlation = 1.0 / 3, .bias_signal = 4, .seed = seed});
    const FixResult result = fixed(made.open());
    EXPECT_FALSE(result.changed) << seed;
    EXPECT_THAT(result.notes, testing::Contains(HasSubstr("class and bias label are independent"))) << seed;
  }
}

TEST_F(NoisyCopy, DoesNotSwitchACorrectionOff) {
  const FixResult one = fixed(made_.open(TableRowOptions{.biases = {{"bias"}}}));
  for (const auto& columns : {std::vector<std::string>{"bias", "copy"}, std::vector<std::string>{"copy", "bias"}}) {
    const FixResult both = fixed(made_.open(TableRowOptions{.biases = columns}));
    EXPECT_EQ(both.changed, one.changed);
    EXPECT_EQ(both.bias.name, "bias");
    EXPECT_THAT(both.notes, testing::Contains(HasSubstr("bias column 'copy' mostly repeats 'bias' (in ")));
  }
  EXPECT_TRUE(one.changed);
}

// Each class is common at two sites, and a third of the test rows is of a site that no training row has.
TEST(Fix, SeveralUsualBiasLabelsOfAClassAreAlignedAndUnseenOnesOnNeitherSide) {
  const GaussianTable made({.train = 1200, .test = 1200, .classes = 2, .correlation = 0.95});
  const FeatureTable plain = made.open();
  int64_t contradicting = 0;
  made.write_rows("label,bias,split", plain.size(), [&](size_t i) {
    const int64_t y = plain.rows.labels[i], b = plain.rows.columns[0].values[i];
    contradicting += i < 1200 && y != b;
    const std::string site = i >= 1200 && i % 3 == 0 ? "new" : fmt::format("b{} {}", b, i / 2 % 2);
    return fmt::format("c{},{},{}", y, site, i < 1200 ? "train" : "test");
  });
  const FeatureTable table = made.open();
  const FixResult result = fixed(table);
  EXPECT_TRUE(result.changed);
  EXPECT_THAT(result.log.front(), HasSubstr(fmt::format("{} of them bias-conflicting", contradicting)));
  const FixedEvaluations found = evaluated(table, result);
  EXPECT_EQ(found.after.groups.record.aligned->biases_of_class, (BiasesOfClass{{"c0", {"b0 0", "b0 1"}}, {"c1", {"b1 0", "b1 1"}}}));
  EXPECT_GE(metric(found.after, "conflicting_acc"), metric(found.before, "conflicting_acc") + 0.05);
  EXPECT_FALSE(result.groups.has_side(result.groups.of_row[1200]));
  EXPECT_FALSE(result.groups.is_conflicting(result.groups.of_row[1200]));
}

// Valid rows in which the bias goes the other way round: what helps there is not what helps in the folds.
TEST(Fix, ValidRowsDecideAndSayWhereTheyContradictTheFolds) {
  const GaussianTable made({.train = 1200, .test = 1200, .classes = 2, .correlation = 0.95});
  const FeatureTable plain = made.open();
  const auto write = [&](const std::string& split, bool relabelled) {
    made.write_rows("label,bias,split", plain.size(), [&](size_t i) {
      const int64_t y = plain.rows.labels[i], b = plain.rows.columns[0].values[i];
      return fmt::format("{},{},{}", relabelled && i >= 1200 && y != b ? b : y, relabelled && i >= 1200 && y != b ? y : b,
                         i < 1200 ? "train" : split);
    });
  };
  write("valid", false);
  const FixResult agreed = fixed(made.open());
  EXPECT_TRUE(agreed.changed);
  EXPECT_THAT(agreed.log, testing::Contains(HasSubstr("in the valid rows")));
  write("valid", true);  // conflicting rows have the class that the bias shows: the plain head is right there
  const FixResult contradicted = fixed(made.open());
  EXPECT_FALSE(contradicted.changed);
  EXPECT_THAT(contradicted.notes, testing::Contains(HasSubstr("valid rows contradict the folds")));
}

TEST(Fix, WithoutEvaluatedRowsFoldsGiveTheAccuracies) {
  const GaussianTable made({.train = 900, .test = 0});
  const FeatureTable table = made.open();
  const FixResult result = fixed(table);
  const FixedEvaluations found = evaluated(table, result);
  EXPECT_THAT(found.notes, testing::Contains(HasSubstr("folds of the training rows")));
  EXPECT_GT(found.after.groups.metrics.at("valid.conflicting_acc"), found.before.groups.metrics.at("valid.conflicting_acc"));
  EXPECT_FALSE(found.after.geometry.metrics.contains("valid.bias_probe_acc1"));
  const FixedOutcome outcome{table, {}, result, found, 1, "0"};
  EXPECT_TRUE(to_json(outcome)["after"].contains("folds"));
  EXPECT_FALSE(to_json(outcome)["after"].contains("valid"));
  EXPECT_THAT(fixed_text(outcome, "out", {.verbose = true}), AllOf(HasSubstr("after   folds "), testing::Not(HasSubstr("valid"))));
  EXPECT_THAT(usage_error_of([&] { fixed(table, FixMethod::kLeace); }), HasSubstr("column split"));
}

TEST(Fix, ABiasThatNoRowContradictsChangesNothing) {
  const GaussianTable made({.train = 300, .test = 100, .correlation = 1});
  const FeatureTable table = made.open();
  const FixResult result = fixed(table);
  EXPECT_FALSE(result.changed);
  EXPECT_THAT(result.notes, testing::Contains(HasSubstr("no training row contradicts the bias")));
}

TEST(Fix, TablesThatCannotBeCorrectedAreRefused) {
  const GaussianTable made({.train = 90, .test = 0});
  const auto refused = [&](ErrorKind kind, const std::string& header, const std::function<std::string(size_t)>& line) {
    made.write_rows(header, 90, line);
    const FeatureTable table = made.open();
    return error_of(kind, [&] { fixed(table); });
  };
  EXPECT_THAT(refused(ErrorKind::kUsage, "label", [](size_t i) { return std::to_string(i % 2); }),
              AllOf(HasSubstr("debias audit --embeddings"), HasSubstr("--bias")));
  EXPECT_THAT(
      refused(ErrorKind::kData, "label,bias", [](size_t i) { return std::string(i < 19 ? "rare" : "many") + (i % 2 == 0 ? ",a" : ",b"); }),
      AllOf(HasSubstr("class 'rare' has 19"), HasSubstr("20")));
  EXPECT_THAT(refused(ErrorKind::kData, "label,bias", [](size_t i) { return std::to_string(i % 2) + ",a"; }),
              HasSubstr("column 'bias' has one value"));
  EXPECT_THAT(refused(ErrorKind::kData, "label,bias", [](size_t i) { return std::to_string(i % 2) + (i % 3 == 0 ? "," : ",NA"); }),
              HasSubstr("column 'bias' has no value in the training rows; fill it"));
  EXPECT_THAT(refused(ErrorKind::kData, "label,bias", [](size_t i) { return "x," + std::to_string(i % 2); }), HasSubstr("one class, 'x'"));
}

}  // namespace fix_test
}  // namespace debias
