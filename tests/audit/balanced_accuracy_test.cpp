// Cross-validated balanced accuracy against a naive definition in double, and by hand.
#include "debias/audit/balanced_accuracy.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "debias/core/philox.h"

namespace debias {
namespace balanced_accuracy_test {

struct Drawn {
  std::vector<float> values;
  std::vector<int32_t> labels;
};

// Class c's rows are normal around (c, 0, 0, ...) in the first dimension; every seventh row is of class 0, so that classes differ in size.
Drawn drawn(int64_t rows, int64_t dimensions, int32_t classes, double shift) {
  Random random({.seed = 3, .sample = static_cast<uint64_t>(rows)});
  Drawn made;
  for (int64_t i = 0; i < rows; ++i) {
    made.labels.push_back(i % 7 == 0 ? 0 : static_cast<int32_t>(random.below(classes)));
    for (int64_t k = 0; k < dimensions; ++k) {
      made.values.push_back(static_cast<float>(random.normal() + (k == 0 ? shift * made.labels.back() : 0)));
    }
  }
  return made;
}

bool in_fold(const Folds& folds, int fold, int64_t row) { return row >= folds.begin[fold] && row < folds.begin[fold + 1]; }

double naive_nearest_mean(const VectorFeatures& x, const Folds& folds, const std::vector<int32_t>& labels, int32_t classes) {
  const int64_t d = x.dimensions;
  std::vector<double> right(classes), rows(classes);
  for (int fold = 0; fold < Folds::kCount; ++fold) {
    std::vector<std::vector<double>> mean(classes, std::vector<double>(d));
    std::vector<double> count(classes);
    for (int64_t i = 0; i < x.rows; ++i) {
      if (in_fold(folds, fold, i)) continue;
      ++count[labels[i]];
      for (int64_t k = 0; k < d; ++k) mean[labels[i]][k] += x.by_row[i * d + k];
    }
    for (int64_t i = folds.begin[fold]; i < folds.begin[fold + 1]; ++i) {
      std::vector<double> distance(classes);
      for (int32_t c = 0; c < classes; ++c) {
        for (int64_t k = 0; k < d; ++k) {
          const double difference = x.by_row[i * d + k] - mean[c][k] / count[c];
          distance[c] += difference * difference;
        }
      }
      ++rows[labels[i]];
      const auto nearest = std::min_element(distance.begin(), distance.end()) - distance.begin();
      right[labels[i]] += nearest == labels[i] ? 1 : 0;
    }
  }
  double sum = 0;
  for (int32_t c = 0; c < classes; ++c) sum += right[c] / rows[c];
  return sum / classes;
}

TEST(BalancedAccuracy, OfVectorsIsThatOfTheNearestMean) {
  for (const auto& [rows, dimensions, classes] : {std::tuple{101, 1, 2}, {257, 3, 2}, {1300, 6, 5}, {1281, 24, 3}}) {
    const Drawn made = drawn(rows, dimensions, classes, 1.0);
    const VectorFeatures x = whitened(made.values, rows, dimensions);
    const Folds folds = folds_of(rows);
    // A row whose two nearest means are equally far, to the precision of float, may go to either.
    EXPECT_NEAR(balanced_accuracy(x, folds, made.labels, classes), naive_nearest_mean(x, folds, made.labels, classes), 2.0 / rows);
  }
}

TEST(BalancedAccuracy, IsChanceForOneValueWhateverTheSizesOfTheClasses) {
  std::vector<int32_t> labels(1000, 0);
  for (size_t i = 0; i < labels.size(); i += 10) labels[i] = 1;  // 90:10
  const CategoryFeatures constant{std::vector<int32_t>(1000, 0), 1};
  EXPECT_DOUBLE_EQ(balanced_accuracy(constant, folds_of(1000), labels, 2), 0.5);
  const VectorFeatures zero = whitened(std::vector<float>(3000, 7.0F), 1000, 3);
  EXPECT_DOUBLE_EQ(balanced_accuracy(zero, folds_of(1000), labels, 2), 0.5);
}

TEST(BalancedAccuracy, OfCategoriesCountsByHand) {
  // Each fold has a row of each class with its own value, and fold 0 one of class 1 with the other's.
  std::vector<int32_t> labels, values;
  for (int fold = 0; fold < Folds::kCount; ++fold) {
    labels.insert(labels.end(), {0, 1, 0, 1});
    values.insert(values.end(), {0, fold == 0 ? 0 : 1, 0, 1});
  }
  EXPECT_DOUBLE_EQ(balanced_accuracy(CategoryFeatures{values, 2}, folds_of(20), labels, 2), (1.0 + 0.9) / 2);
}

TEST(BalancedAccuracy, SeesASmallClassAsWellAsALargeOne) {
  std::vector<int32_t> labels(2000, 0), values(2000, 0);
  for (size_t i = 0; i < labels.size(); i += 20) labels[i] = 1;
  for (size_t i = 0; i < labels.size(); i += 40) values[i] = 1;  // half of the small class has a value of its own
  EXPECT_NEAR(balanced_accuracy(CategoryFeatures{values, 2}, folds_of(2000), labels, 2), 0.75, 1e-9);
}

}  // namespace balanced_accuracy_test
}  // namespace debias
