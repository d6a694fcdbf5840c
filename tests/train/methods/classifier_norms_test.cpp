// What a logit of the linear classifier is at most: |(W, b)| |(f, 1)|.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "debias/train/methods/classifier.h"
#include "tests/support/finite_differences.h"

namespace debias {
namespace classifier_norms_test {

Classifier classifier(bool normalize) {
  return {ClassifierOptions{.gradient = ClassifierGradient::kFlow, .normalize = normalize}, 5, 3, 4};
}

TEST(ClassifierNorms, AreThoseOfTheWeightsWithTheirBiasAndOfTheFeaturesWithAOne) {
  at::manual_seed(1);
  const at::Tensor features = at::randn({4, 2, 5});  // [B, V, D]
  for (const bool normalize : {false, true}) {
    Classifier linear = classifier(normalize);
    const at::Tensor norms = linear.norms(features), logits = linear.logits(features);
    ASSERT_EQ(norms.sizes(), logits.sizes());
    for (int64_t row = 0; row < 8; ++row) {
      at::Tensor f = features[row % 4][row / 4];
      if (normalize) f = f / f.norm();
      for (int64_t c = 0; c < 3; ++c) {
        const at::Tensor weight = at::cat({linear.linear()->weight[c], linear.linear()->bias[c].view({1})});
        EXPECT_NEAR(norms[row][c].item<double>(), (weight.norm() * at::cat({f, at::ones({1})}).norm()).item<double>(), 1e-5);
        EXPECT_LE(logits[row][c].abs().item<double>(), norms[row][c].item<double>() * (1 + 1e-6));
      }
    }
  }
}

TEST(ClassifierNorms, AreReachedByAFeatureAlongTheWeights) {
  Classifier linear = classifier(false);
  const at::NoGradGuard no_grad;
  const at::Tensor along = (linear.linear()->weight[1] / linear.linear()->bias[1]).view({1, 1, 5});  // (f, 1) is W / b times a number
  EXPECT_NEAR((linear.logits(along).abs() / linear.norms(along))[0][1].item<double>(), 1, 1e-5);
}

TEST(ClassifierNorms, AreFiniteWithFiniteGradientsAtWeightsOfZero) {
  Classifier linear = classifier(false);
  {
    const at::NoGradGuard no_grad;
    linear.linear()->weight.zero_();
    linear.linear()->bias.zero_();
  }
  linear.norms(at::zeros({2, 1, 5})).sum().backward();
  EXPECT_TRUE(linear.linear()->weight.grad().isfinite().all().item<bool>());
}

}  // namespace classifier_norms_test
}  // namespace debias
