#include "debias/data/builders/bias_assignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace debias {
namespace bias_assignment_test {

// Labels of n_c images of each class c, interleaved.
std::vector<int64_t> labels_with(std::vector<int64_t> counts) {
  std::vector<int64_t> labels;
  for (bool any = true; any;) {
    any = false;
    for (size_t c = 0; c < counts.size(); ++c) {
      if (counts[c] == 0) continue;
      --counts[c];
      any = true;
      labels.push_back(static_cast<int64_t>(c));
    }
  }
  return labels;
}

const std::vector<int64_t> kMnistTrain = {5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949};
const std::vector<int64_t> kMnistTest = {980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009};

int64_t conflicts(const std::vector<int64_t>& labels, const std::vector<int64_t>& biases) {
  int64_t count = 0;
  for (size_t i = 0; i < labels.size(); ++i) count += labels[i] != biases[i] ? 1 : 0;
  return count;
}

TEST(BiasAssignment, GivesThePublishedCountsOfBiasedMnist) {
  const auto train = labels_with(kMnistTrain);
  for (const auto& [correlation, expected] :
       {std::pair{0.999, 63}, {0.997, 184}, {0.995, 305}, {0.99, 606}, {0.95, 3006}, {0.9, 6006}, {1.0, 0}, {0.0, 60000}}) {
    EXPECT_EQ(conflicts(train, assign_biases(train, 10, correlation, {})), expected) << correlation;
  }
  const auto test = labels_with(kMnistTest);
  EXPECT_EQ(conflicts(test, assign_biases(test, 10, 0.1, {})), 9004);
}

// 100 images a class at 0.79: 79 aligned, 21 left in chunks of ceil(21 / 9) = 3, so that seven of the nine other biases get 3 each.
TEST(BiasAssignment, CutsTheRestIntoEqualChunks) {
  const auto labels = labels_with(std::vector<int64_t>(10, 100));
  const auto biases = assign_biases(labels, 10, 0.79, {});
  std::map<std::pair<int64_t, int64_t>, int64_t> cells;
  for (size_t i = 0; i < labels.size(); ++i) ++cells[{labels[i], biases[i]}];
  for (int64_t label = 0; label < 10; ++label) {
    std::vector<int64_t> row;
    for (int64_t bias = 0; bias < 10; ++bias) {
      const int64_t images = cells[{label, bias}];
      if (label == bias) {
        EXPECT_EQ(images, 79);
      } else {
        row.push_back(images);
      }
    }
    EXPECT_THAT(row, testing::UnorderedElementsAre(3, 3, 3, 3, 3, 3, 3, 0, 0)) << label;
  }
}

TEST(BiasAssignment, MembershipIsRandomAndAFunctionOfTheKey) {
  const auto labels = labels_with({200, 200, 200});
  RngKey key;
  key.seed = 7;
  const auto first = assign_biases(labels, 3, 0.5, key);
  EXPECT_EQ(first, assign_biases(labels, 3, 0.5, key));
  RngKey other_seed = key, other_split = key;
  other_seed.seed = 8;
  other_split.epoch = 1;
  EXPECT_NE(first, assign_biases(labels, 3, 0.5, other_seed));
  EXPECT_NE(first, assign_biases(labels, 3, 0.5, other_split));
  int64_t aligned_in_front = 0;  // of the first half: 150 expected of 300; 5 standard deviations are 43
  for (size_t i = 0; i < labels.size() / 2; ++i) aligned_in_front += labels[i] == first[i] ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(aligned_in_front), 150, 43);
}

TEST(BiasAssignment, TakesClassesWithoutImages) {
  EXPECT_TRUE(assign_biases({}, 10, 0.5, {}).empty());
  EXPECT_THAT(assign_biases({1}, 2, 0.99, {}), testing::ElementsAre(0));  // floor(0.99) aligned images
}

}  // namespace bias_assignment_test
}  // namespace debias
