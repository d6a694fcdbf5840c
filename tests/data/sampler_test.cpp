#include "debias/data/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "debias/core/error.h"

namespace debias {
namespace sampler_test {

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

}  // namespace sampler_test
}  // namespace debias
