#include "debias/data/hold_out.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/data/fixture_files.h"

namespace debias {
namespace hold_out_test {

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

}  // namespace hold_out_test
}  // namespace debias
