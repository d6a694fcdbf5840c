#include "debias/evaluate/protocols/mean_classifier.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/evaluate/toy.h"
#include "tests/support/refusals.h"

namespace debias {
namespace mean_classifier_test {

TEST(ClassMeans, AreOfNormalisedLabelledRows) {
  const at::Tensor rows = at::tensor({3.f, 4.f, 0.f, 2.f, 5.f, 0.f, 9.f, 9.f}).view({4, 2});
  const at::Tensor means = class_means(rows, {0, 0, 2, kUnknown}, 3);
  EXPECT_TRUE(at::allclose(means, at::tensor({0.3f, 0.9f, 0.f, 0.f, 1.f, 0.f}).view({3, 2})));
}

TEST(ClassMeans, RefuseLengthsThatDifferAndRowsThatAreNotFinite) {
  EXPECT_EQ(data_error_of([] {
              class_means(at::ones({3, 2}), {0, 1}, 2);
            }),
            "mean_classifier: 3 rows and 2 labels; give one label per row");
  EXPECT_EQ(error_of(ErrorKind::kNumeric,
                     [] {
                       class_means(at::full({2, 2}, INFINITY), {0, 1}, 2);
                     }),
            "mean_classifier: a row is not finite; check the encoder's weights");
}

TEST(MeanClassifier, TheLossFollowsTheTemperatureAndTheAccuracyDoesNot) {
  const EvaluationInput input = toy_input();
  const auto at_one = evaluated(input, "mean_classifier").metrics,
             sharp = evaluated(input, "mean_classifier", "{temperature: 0.1}").metrics;
  EXPECT_LT(at_one.at("test.mean_classifier_loss"), std::log(3.0));
  EXPECT_LT(sharp.at("test.mean_classifier_loss"), at_one.at("test.mean_classifier_loss"));
  EXPECT_EQ(sharp.at("test.mean_classifier_acc1"), at_one.at("test.mean_classifier_acc1"));
}

}  // namespace mean_classifier_test
}  // namespace debias
