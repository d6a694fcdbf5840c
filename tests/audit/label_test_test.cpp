// The permutation test of an audit: its statistic by hand, and how often it errs where rows belong together.
#include "debias/audit/label_test.h"

#include <gtest/gtest.h>

#include <cmath>

#include "debias/core/philox.h"

namespace debias {
namespace label_test_test {

// Groups of `rows_of_group` rows, of one class each.
struct Grouped {
  std::vector<int32_t> labels;
  RowGroups groups;

  Grouped(int32_t count, int32_t rows_of_group, int32_t classes) {
    for (int32_t g = 0; g < count; ++g) {
      for (int32_t r = 0; r < rows_of_group; ++r) {
        labels.push_back(g % classes);
        groups.of_row.push_back(g);
      }
    }
    groups.count = count;
  }
};

Property names_of(std::vector<int32_t> values, int32_t count) {
  Property property{.name = "p", .kind = PropertyKind::kColumn};
  for (int32_t v = 0; v < count; ++v) property.value_names.push_back(std::to_string(v));
  property.absent.assign(static_cast<size_t>(count), false);
  property.values = std::move(values);
  return property;
}

TEST(LabelTest, SharesAreOfGroupsWhateverTheirSize) {
  // Class 0: a group of three rows with value 1, one row with value 0. Class 1: two rows with value 0.
  const std::vector<int32_t> labels = {0, 0, 0, 0, 1, 1};
  const RowGroups groups{{0, 0, 0, 1, 2, 3}, 4, "column g"};
  const Property property = names_of({1, 1, 1, 0, 0, 0}, 2);
  const TestedProperty tested = LabelTest(labels, 2, groups, 0).test({&property}).front();
  EXPECT_EQ(tested.label, 0);
  EXPECT_EQ(tested.value, 1);
  EXPECT_NEAR(tested.in_class, 0.5, 1e-6);  // of two groups
  EXPECT_DOUBLE_EQ(tested.elsewhere, 0);
  EXPECT_NEAR(tested.groups_with, 1, 1e-6);
}

TEST(LabelTest, ClassesAreComparedByWhatIsThereWhereAbsenceSaysNothing) {
  const Grouped rows(80, 1, 2);
  std::vector<int32_t> values;  // absent on 10 of class 0 and on 30 of class 1; of the others, 1 on 20 of 30 and on 5 of 10
  for (int32_t i = 0; i < 40; ++i) {
    values.push_back(i < 10 ? 0 : i < 30 ? 1 : i < 35 ? 2 : 3);
    values.push_back(i < 30 ? 0 : i < 35 ? 1 : i < 38 ? 2 : 3);
  }
  Property property = names_of(values, 4);
  property.absent[0] = true;
  EXPECT_LE(LabelTest(rows.labels, 2, rows.groups, 0).test({&property}).front().p_adjusted, 0.01);
  property.among_present = true;
  const TestedProperty tested = LabelTest(rows.labels, 2, rows.groups, 0).test({&property}).front();
  EXPECT_GT(tested.p_adjusted, 0.05);
  EXPECT_EQ(tested.value, 1);
  EXPECT_NEAR(tested.in_class, 2.0 / 3, 1e-6);
  EXPECT_NEAR(tested.elsewhere, 0.5, 1e-6);
}

TEST(LabelTest, TheEffectIsWhatGoesBeyondPermutedLabels) {
  const Grouped rows(100, 1, 2);
  const Property same = names_of(rows.labels, 2);
  std::vector<int32_t> half = rows.labels;
  for (size_t i = 0; i < 50; ++i) half[i] = 0;  // value 1 on half of class 1: J = 0.5
  const Property part = names_of(half, 2);
  const auto tested = LabelTest(rows.labels, 2, rows.groups, 0).test({&same, &part});
  EXPECT_DOUBLE_EQ(tested[0].effect, 1);
  // J of a permuted value on a quarter of the rows: 50 draws of 100 without return.
  const double mean = std::sqrt(2 / std::acos(-1.0)) * std::sqrt(0.25 * 0.75 * 4 / 99);
  EXPECT_NEAR(tested[1].effect, (0.5 - mean) / (1 - mean), 0.02);
  EXPECT_DOUBLE_EQ(tested[0].p_adjusted, 1.0 / 500);
}

TEST(LabelTest, AnOrderedPropertyDividesWhereTheClassesDiffer) {
  const Grouped rows(80, 1, 2);
  std::vector<double> numbers;
  for (size_t i = 0; i < 80; ++i) numbers.push_back(static_cast<double>(i % 40) + (i % 2 == 1 ? 40 : 0));
  const Property property = number_property("n", PropertyKind::kColumn, numbers);
  const TestedProperty tested = LabelTest(rows.labels, 2, rows.groups, 0).test({&property}).front();
  EXPECT_DOUBLE_EQ(tested.in_class, 1);
  EXPECT_DOUBLE_EQ(tested.elsewhere, 0);
}

TEST(LabelTest, ATagOnOneOfTenClassesIsSeen) {
  const Grouped rows(400, 1, 10);
  std::vector<int32_t> values;
  for (size_t i = 0; i < 400; ++i) values.push_back(rows.labels[i] == 7 && i % 20 != 7 ? 1 : 0);  // on half of one class
  const Property property = names_of(values, 2);
  const TestedProperty tested = LabelTest(rows.labels, 10, rows.groups, 0).test({&property}).front();
  EXPECT_EQ(tested.label, 7);
  EXPECT_LE(tested.p_adjusted, 0.01);
  EXPECT_GT(tested.effect, 0.4);
}

// Nine of ten images of three classes have it, one of ten of the fourth: the fourth is told by it, not one of the three.
TEST(LabelTest, TheLargestDifferenceIsOfTheClassThatLacksWhatTheOthersHave) {
  const Grouped rows(400, 1, 4);
  std::vector<int32_t> values;
  for (size_t i = 0; i < 400; ++i) values.push_back((rows.labels[i] == 2) == (i / 4 % 10 == 0) ? 1 : 0);
  Property property = names_of(values, 2);
  property.absent[0] = true;
  const TestedProperty tested = LabelTest(rows.labels, 4, rows.groups, 0).test({&property}).front();
  EXPECT_EQ(tested.largest.label, 2);
  EXPECT_EQ(tested.largest.value, 1);
  EXPECT_NEAR(tested.largest.in_class, 0.1, 1e-6);
  EXPECT_NEAR(tested.largest.elsewhere, 0.9, 1e-6);
}

TEST(LabelTest, OfTwoClassesTheOneThatHasItIsNamed) {
  const Grouped rows(200, 1, 2);
  std::vector<int32_t> values;
  for (size_t i = 0; i < 200; ++i) values.push_back((rows.labels[i] == 1) != (i / 2 % 10 == 0) ? 1 : 0);
  Property property = names_of(values, 2);
  property.absent[0] = true;
  const TestedProperty tested = LabelTest(rows.labels, 2, rows.groups, 0).test({&property}).front();
  EXPECT_EQ(tested.largest.label, 1);
  EXPECT_EQ(tested.largest.value, 1);
  EXPECT_EQ(tested.label, 1);
}

// Values of whole bursts, independent of the class. As if frames were independent, nearly every property would be found.
TEST(LabelTest, IndependentPropertiesOfBurstsAreRarelyFoundAndWouldBeWithoutGroups) {
  int with_groups = 0, without = 0;
  for (uint64_t trial = 0; trial < 100; ++trial) {
    const Grouped rows(30, 8, 2);
    Random random({.seed = 30 + trial});
    std::vector<int32_t> of_group, values;
    for (int32_t g = 0; g < 30; ++g) of_group.push_back(static_cast<int32_t>(random.below(2)));
    for (const int32_t g : rows.groups.of_row) values.push_back(of_group[static_cast<size_t>(g)]);
    const Property property = names_of(values, 2);
    with_groups += LabelTest(rows.labels, 2, rows.groups, trial, {}, 99).test({&property}).front().p_adjusted <= 0.05;
    without += LabelTest(rows.labels, 2, single_rows(240), trial, {}, 99).test({&property}).front().p_adjusted <= 0.05;
  }
  EXPECT_LE(with_groups, 12);  // binomial(100, 0.05) exceeds it with probability 0.1 %
  EXPECT_GE(without, 30);
}

// Sites with images of both classes: only labels within a site are exchanged, so that a class that is frequent at one site is no finding.
TEST(LabelTest, LabelsAreExchangedWithinGroupsOfSeveralClasses) {
  std::vector<int32_t> labels, values;
  RowGroups groups;
  for (int32_t site = 0; site < 20; ++site) {
    for (int32_t i = 0; i < 10; ++i) {
      labels.push_back(i < (site % 2 == 0 ? 9 : 1) ? 0 : 1);
      values.push_back(site % 2);  // goes with the class over all rows, never within a site
      groups.of_row.push_back(site);
    }
  }
  groups.count = 20;
  const Property property = names_of(values, 2);
  EXPECT_GT(LabelTest(labels, 2, groups, 0).test({&property}).front().p_adjusted, 0.5);
}

TEST(LabelTest, WithinTheValuesOfAnotherACopyAddsNothing) {
  const Grouped rows(200, 1, 2);
  std::vector<int32_t> site, own;
  for (size_t i = 0; i < 200; ++i) {
    site.push_back(i % 10 < 9 ? rows.labels[i] : 1 - rows.labels[i]);
    own.push_back(i % 7 < 6 ? rows.labels[i] : 1 - rows.labels[i]);
  }
  const Property copy = names_of(site, 2), other = names_of(own, 2);
  const LabelTest within(rows.labels, 2, rows.groups, 0, site);
  EXPECT_GT(within.test({&copy}).front().p_adjusted, 0.05);
  EXPECT_LE(within.test({&other}).front().p_adjusted, 0.05);
}

TEST(LabelTest, FewGroupsLeaveStrongEffectsUnseen) {
  const Grouped few(16, 1, 2), many(400, 1, 2);
  const auto least = [](const Grouped& rows) {
    const Property property = names_of(rows.labels, 2);
    const LabelTest test(rows.labels, 2, rows.groups, 0);
    test.test({&property});
    return test.least_share(0.3, test.critical(0.01));
  };
  EXPECT_GT(least(few), 0.6);
  EXPECT_LT(least(many), 0.45);
}

}  // namespace label_test_test
}  // namespace debias
