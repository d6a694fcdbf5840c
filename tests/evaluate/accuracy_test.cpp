#include "debias/evaluate/accuracy.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/evaluate/toy.h"
#include "tests/support/refusals.h"

namespace debias {
namespace accuracy_test {

TEST(LabelRank, CountsTheClassesThatScoreHigherAndOfEqualOnesTheLower) {
  const std::vector<double> scores = {1, 5, 5, 0};
  EXPECT_EQ(label_rank(scores, 1), 0);
  EXPECT_EQ(label_rank(scores, 2), 1);
  EXPECT_EQ(label_rank(scores, 0), 2);
  EXPECT_EQ(label_rank(scores, 3), 3);
  EXPECT_EQ(label_rank(scores, kUnknown), kUnranked);
}

TEST(LabelRank, ReadsRowsOfATensorThatIsNotContiguous) {
  const at::Tensor scores = at::tensor({1.f, 2.f, 3.f, 9.f, 5.f, 4.f}).view({3, 2}).t();  // rows {1, 3, 5}, {2, 9, 4}
  EXPECT_EQ(label_ranks(scores, {0, 2}), (std::vector<int64_t>{2, 1}));
}

TEST(Accuracy, IsTheShareOfRankedSamplesWithinK) {
  const std::vector<int64_t> ranks = {0, 1, 4, 5, kUnranked};
  EXPECT_DOUBLE_EQ(accuracy_within(ranks, 1), 0.25);
  EXPECT_DOUBLE_EQ(accuracy_within(ranks, 5), 0.75);
  EXPECT_TRUE(std::isnan(accuracy_within({kUnranked}, 1)));
}

TEST(SideAccuracy, SplitsByTheBiasValuesOfTheClass) {
  std::map<std::string, double> metrics;
  const AlignmentMap alignment({{2}, {0, 1}, {}});
  //                                    class 0: conflicting, aligned wrong; class 1: aligned right, right; unknown bias; class 2: neither
  add_side_accuracy("test", {0, 3, 0, 0, 1, 1}, {0, 0, 1, 1, 1, 2}, {0, 2, 0, 1, kUnknown, 2}, alignment, metrics);
  EXPECT_DOUBLE_EQ(metrics.at("test.aligned_acc"), 2.0 / 3);
  EXPECT_DOUBLE_EQ(metrics.at("test.conflicting_acc"), 1);
}

TEST(SideAccuracy, ASideWithoutSamplesHasNoMetric) {
  std::map<std::string, double> metrics;
  add_side_accuracy("test", {0, 0}, {0, 1}, {0, kUnknown}, AlignmentMap::by_label(2), metrics);
  EXPECT_EQ(metrics, (std::map<std::string, double>{{"test.aligned_acc", 1}}));
  metrics.clear();
  add_side_accuracy("test", {0, 0}, {0, 1}, {0, 0}, AlignmentMap(), metrics);
  EXPECT_TRUE(metrics.empty());
}

TEST(Classes, AreNamedOrCountedWhicheverIsMore) {
  ToyDataset named(9, 3);
  EXPECT_EQ(count_classes(named, "knn"), 3);
  named.editable_info().class_names.clear();
  EXPECT_EQ(count_classes(named, "knn"), 3);
  named.set_label(2, 7);
  EXPECT_EQ(count_classes(named, "knn"), 8);
}

TEST(Classes, OneClassOrNoLabelsIsADataError) {
  ToyDataset data(4, 2);
  for (int i = 0; i < 4; ++i) data.set_label(i, 1);
  EXPECT_EQ(data_error_of([&] { count_classes(data, "knn"); }),
            "knn: all labels of split 'train' of toy are of class 1 ('class1'); it needs at least two classes");
  data.set_label(0, kUnknown);
  EXPECT_EQ(data_error_of([&] { count_classes(data, "knn"); }),
            "knn: all labels of split 'train' of toy are of class 1 ('class1'), and 1 of its 4 images have no label; it needs at least two "
            "classes");
  for (int i = 0; i < 4; ++i) data.set_label(i, kUnknown);
  EXPECT_EQ(data_error_of([&] { count_classes(data, "linear_dcl"); }),
            "linear_dcl: split 'train' of toy has no labels; it needs a labelled training set");
}

TEST(Labels, OfAnotherClassThanTheTrainingSetsAreADataError) {
  ToyDataset data(4, 2, "test");
  EXPECT_NO_THROW(require_labels(data, 2, "knn"));
  data.set_label(3, 5);
  EXPECT_EQ(data_error_of([&] { require_labels(data, 2, "knn"); }),
            "knn: sample 3 of split 'test' of toy (toy/3.png) is of class 5, the training set has classes 0 to 1");
  for (int i = 0; i < 4; ++i) data.set_label(i, kUnknown);
  EXPECT_EQ(data_error_of([&] { require_labels(data, 2, "knn"); }), "knn: split 'test' of toy has no labels to be evaluated by");
}

}  // namespace accuracy_test
}  // namespace debias
