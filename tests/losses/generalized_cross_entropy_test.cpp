// Generalized cross-entropy between its two ends, and the weighted form that biased networks are trained with.
#include "debias/losses/logits.h"

#include <gtest/gtest.h>

#include <cmath>

#include "debias/core/error.h"
#include "tests/support/embeddings.h"
#include "tests/support/finite_differences.h"

namespace debias {
namespace generalized_cross_entropy_test {

using Options = GeneralizedCrossEntropyOptions;

at::Tensor logits() {
  at::manual_seed(3);
  return at::randn({6, 4}, at::kDouble) * 2;
}
at::Tensor labels() { return integers({0, 3, -1, 2, 1, 1}); }
at::Tensor probabilities(const at::Tensor& z) { return z.softmax(1).gather(1, labels().clamp_min(0).unsqueeze(1)).squeeze(1); }
double mean_of_known(const at::Tensor& losses) { return losses.where(labels().ge(0), 0).sum().item<double>() / 5; }

at::Tensor gradient(const Options& options) {
  const at::Tensor leaf = logits().requires_grad_(true);
  generalized_cross_entropy(leaf, labels(), options).value.backward();
  return leaf.grad();
}

TEST(GeneralizedCrossEntropy, LiesBetweenCrossEntropyAndAbsoluteError) {
  const at::Tensor p = probabilities(logits());
  EXPECT_NEAR(generalized_cross_entropy(logits(), labels(), Options{.q = 1e-9}).value.item<double>(),
              cross_entropy(logits(), labels()).value.item<double>(), 1e-7);
  EXPECT_NEAR(generalized_cross_entropy(logits(), labels(), Options{.q = 1}).value.item<double>(), mean_of_known(1 - p), 1e-12);
}

TEST(GeneralizedCrossEntropy, WeightedFormHasNoGradientThroughItsWeight) {
  EXPECT_LT(largest_difference(gradient(Options{.q = 0.7, .form = GceForm::kLff}), 0.7 * gradient(Options{.q = 0.7})), 1e-12);
}

TEST(GeneralizedCrossEntropy, HopelessRowsAreFinite) {
  for (GceForm form : {GceForm::kStandard, GceForm::kLff}) {
    for (double q : {1e-6, 0.7, 1.0}) {
      const at::Tensor z = at::tensor({1e6, -1e6, -1e6, 1e6}, at::kFloat).view({2, 2}).requires_grad_(true);
      const auto found = generalized_cross_entropy(z, integers({1, 1}), Options{.q = q, .form = form});
      found.value.backward();
      EXPECT_TRUE(std::isfinite(found.value.item<double>()));
      EXPECT_TRUE(z.grad().isfinite().all().item<bool>());
    }
  }
}

TEST(GeneralizedCrossEntropy, BadInputIsRefused) {
  EXPECT_THROW(generalized_cross_entropy(logits(), labels(), Options{.q = 0}), Error);
  EXPECT_THROW(generalized_cross_entropy(logits(), labels(), Options{.q = 1.01}), Error);
  EXPECT_THROW(generalized_cross_entropy(logits(), at::Tensor()), Error);
  EXPECT_THROW(generalized_cross_entropy(logits(), integers({0, 4, 0, 0, 0, 0})), Error);
}

}  // namespace generalized_cross_entropy_test
}  // namespace debias
