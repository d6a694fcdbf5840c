// Which samples are drawn and which are held out.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "debias/core/error.h"
#include "debias/data/hold_out.h"
#include "debias/data/sampler.h"
#include "tests/data/fixture_files.h"

namespace debias {
namespace samples_test {

std::vector<int64_t> labels_of(const std::map<int64_t, int>& counts) {
  std::vector<int64_t> labels;
  for (const auto& [label, count] : counts) labels.insert(labels.end(), static_cast<size_t>(count), label);
  return labels;
}

std::map<int64_t, int> held_per_label(const std::vector<int64_t>& labels, int64_t count) {
  std::map<int64_t, int> held;
  for (int64_t i : partition_hold_out(labels, count, 3).held_out) ++held[labels[static_cast<size_t>(i)]];
  return held;
}

TEST(HoldOut, SharesByLargestRemainder) {
  const auto labels = labels_of({{0, 50}, {1, 30}, {2, 20}});
  EXPECT_EQ(held_per_label(labels, 10), (std::map<int64_t, int>{{0, 5}, {1, 3}, {2, 2}}));
  // 3.5, 2.1, 1.4: the half is the largest fraction.
  EXPECT_EQ(held_per_label(labels, 7), (std::map<int64_t, int>{{0, 4}, {1, 2}, {2, 1}}));
  // Equal fractions go to the lower label.
  EXPECT_EQ(held_per_label(labels_of({{kUnknown, 10}, {4, 10}, {9, 10}}), 2), (std::map<int64_t, int>{{kUnknown, 1}, {4, 1}}));
}

TEST(HoldOut, PartsAreAscendingDisjointAndComplete) {
  const auto labels = labels_of({{0, 33}, {1, 41}});
  const HoldOutParts parts = partition_hold_out(labels, 20, 1);
  EXPECT_TRUE(std::is_sorted(parts.kept.begin(), parts.kept.end()));
  EXPECT_TRUE(std::is_sorted(parts.held_out.begin(), parts.held_out.end()));
  std::vector<int64_t> all;
  std::merge(parts.kept.begin(), parts.kept.end(), parts.held_out.begin(), parts.held_out.end(), std::back_inserter(all));
  ASSERT_EQ(all.size(), labels.size());
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], static_cast<int64_t>(i));
}

TEST(HoldOut, TheSeedChoosesTheImages) {
  const auto labels = labels_of({{0, 100}, {1, 100}});
  const auto held = partition_hold_out(labels, 40, 5).held_out;
  EXPECT_EQ(held, partition_hold_out(labels, 40, 5).held_out);
  EXPECT_NE(held, partition_hold_out(labels, 40, 6).held_out);
  std::vector<int64_t> first, second;  // the same draws in both classes would be suspicious
  for (int64_t i : held) (i < 100 ? first : second).push_back(i % 100);
  EXPECT_NE(first, second);
}

TEST(HoldOut, RefusesToTakeEverything) {
  EXPECT_THROW(partition_hold_out({0, 1}, 2, 0), Error);
  EXPECT_THROW(partition_hold_out({0, 1}, -1, 0), Error);
  EXPECT_EQ(partition_hold_out({0, 1}, 0, 0).kept.size(), 2u);
}

TEST(HoldOut, KeepsGroupsWholeAndTheSharesOfClasses) {
  std::vector<int64_t> labels, groups;  // 40 groups of 1 to 5 images, a class each, and 10 images without a group
  for (int64_t group = 0; group < 40; ++group) {
    for (int64_t i = 0; i < 1 + group % 5; ++i) {
      labels.push_back(group % 2);
      groups.push_back(group);
    }
  }
  labels.insert(labels.end(), 10, 0);
  groups.insert(groups.end(), 10, kUnknown);
  for (const uint64_t seed : {1, 2, 3}) {
    const HoldOutParts parts = partition_hold_out(labels, 39, seed, groups);  // 21 of 70, 18 of 60
    std::set<int64_t> kept, held;
    std::map<int64_t, int> of_class;
    for (const int64_t i : parts.kept) kept.insert(groups[static_cast<size_t>(i)]);
    for (const int64_t i : parts.held_out) {
      held.insert(groups[static_cast<size_t>(i)]);
      ++of_class[labels[static_cast<size_t>(i)]];
    }
    kept.erase(kUnknown);
    for (const int64_t group : kept) EXPECT_FALSE(held.contains(group)) << group;
    EXPECT_EQ(parts.kept.size() + parts.held_out.size(), labels.size());
    EXPECT_NEAR(of_class[0], 21, 2);
    EXPECT_NEAR(of_class[1], 18, 2);
  }
}

TEST(HoldOut, LeavesAGroupToTrainOnAndHoldsOneOut) {
  EXPECT_EQ(partition_hold_out({0, 0, 1, 1}, 1, 0, {0, 0, 1, 1}).held_out.size(), 2u);
  EXPECT_EQ(partition_hold_out({0, 0, 1, 1}, 3, 0, {0, 0, 1, 1}).held_out.size(), 2u);
  EXPECT_THROW(partition_hold_out({0, 0, 1, 1}, 1, 0, {7, 7, 7, 7}), Error);
}

std::vector<int64_t> indices(const std::vector<Visit>& visits) {
  std::vector<int64_t> result;
  for (const Visit& visit : visits) result.push_back(visit.index);
  return result;
}

TEST(SequentialSampler, CountsUp) {
  EXPECT_EQ(indices(SequentialSampler(4).epoch(1, 9)), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_TRUE(SequentialSampler(0).epoch(1, 0).empty());
}

TEST(ShuffledSampler, VisitsEachOnceInAnOrderOfSeedAndEpoch) {
  const ShuffledSampler sampler(100);
  const auto order = indices(sampler.epoch(1, 0));
  EXPECT_EQ(std::set<int64_t>(order.begin(), order.end()).size(), 100u);
  EXPECT_EQ(order, indices(sampler.epoch(1, 0)));
  EXPECT_NE(order, indices(sampler.epoch(1, 1)));
  EXPECT_NE(order, indices(sampler.epoch(2, 0)));
  for (const Visit& visit : sampler.epoch(1, 0)) EXPECT_EQ(visit.occurrence, 0u);
  EXPECT_TRUE(ShuffledSampler(0).epoch(1, 0).empty());
}

TEST(WeightedSampler, DrawsInProportion) {
  const WeightedSampler sampler({0, 1, 0, 3, 0}, 20000);
  std::vector<int> counts(5, 0);
  for (const Visit& visit : sampler.epoch(7, 0)) ++counts[static_cast<size_t>(visit.index)];
  EXPECT_EQ(counts[0] + counts[2] + counts[4], 0);
  EXPECT_NEAR(counts[1], 5000, 5 * std::sqrt(20000 * 0.25 * 0.75));
}

TEST(WeightedSampler, NumbersOccurrences) {
  const WeightedSampler sampler({1, 1, 1}, 30);
  std::vector<uint32_t> expected(3, 0);
  for (const Visit& visit : sampler.epoch(1, 2)) EXPECT_EQ(visit.occurrence, expected[static_cast<size_t>(visit.index)]++);
  EXPECT_EQ(indices(sampler.epoch(1, 2)), indices(sampler.epoch(1, 2)));
  EXPECT_NE(indices(sampler.epoch(1, 2)), indices(sampler.epoch(1, 3)));
}

TEST(WeightedSampler, RefusesWeightsThatAreNone) {
  EXPECT_THROW(WeightedSampler({1, -1}, 1), Error);
  EXPECT_THROW(WeightedSampler({1, std::numeric_limits<double>::quiet_NaN()}, 1), Error);
  EXPECT_THROW(WeightedSampler({0, 0}, 1), Error);
  EXPECT_THROW(WeightedSampler({}, 1), Error);
  EXPECT_THROW(WeightedSampler({1}, -1), Error);
  EXPECT_TRUE(WeightedSampler({}, 0).epoch(1, 0).empty());
}

TEST(BalancedSampler, EveryRoundHasEachGroupAndAGroupRepeatsNothingBeforeItsEnd) {
  std::vector<int64_t> groups(60, 4);  // 3 of group 9, 7 of group 2, 50 of group 4
  for (int i = 0; i < 3; ++i) groups[static_cast<size_t>(20 * i)] = 9;
  for (int i = 0; i < 7; ++i) groups[static_cast<size_t>(5 + 8 * i)] = 2;
  const BalancedSampler sampler(groups);
  const auto visits = sampler.epoch(5, 1);
  ASSERT_EQ(visits.size(), 60u);
  std::vector<uint32_t> seen(60, 0);
  std::set<std::vector<int64_t>> orders;
  for (size_t round = 0; round < 20; ++round) {
    std::vector<int64_t> order;
    for (size_t i = 0; i < 3; ++i) {
      const Visit& visit = visits[3 * round + i];
      order.push_back(groups[static_cast<size_t>(visit.index)]);
      EXPECT_EQ(visit.occurrence, seen[static_cast<size_t>(visit.index)]++);
    }
    orders.insert(order);
    EXPECT_EQ(std::set<int64_t>(order.begin(), order.end()).size(), 3u) << round;
  }
  EXPECT_GT(orders.size(), 3u);  // the order of the groups is drawn, too
  for (size_t i = 0; i < 60; ++i) {
    const double size = groups[i] == 9 ? 3 : groups[i] == 2 ? 7 : 50;
    EXPECT_NEAR(seen[i], 20 / size, 1) << i;  // what a group gives differs by one at most
    EXPECT_DOUBLE_EQ(sampler.weights()[i], 1 / size);
  }
  EXPECT_EQ(indices(visits), indices(sampler.epoch(5, 1)));
  EXPECT_NE(indices(visits), indices(sampler.epoch(5, 2)));
  EXPECT_NE(indices(visits), indices(sampler.epoch(6, 1)));
  EXPECT_TRUE(BalancedSampler({}).epoch(1, 0).empty());
}

}  // namespace samples_test
}  // namespace debias
