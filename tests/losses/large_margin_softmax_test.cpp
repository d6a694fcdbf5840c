// Large-margin softmax: by hand in the plane, against angles, and what it becomes at its ends.
#include "debias/losses/logits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "debias/core/error.h"
#include "tests/support/embeddings.h"
#include "tests/support/finite_differences.h"
#include "tests/support/refusals.h"

namespace debias {
namespace large_margin_softmax_test {

using Options = LargeMarginSoftmaxOptions;

// A linear classifier without a bias: logits and what they are at most, from features and weights.
struct Linear {
  at::Tensor features, weights;

  at::Tensor logits() const { return features.mm(weights.t()); }
  at::Tensor norms() const { return features.norm(2, 1, true) * weights.norm(2, 1); }
};

Linear random_linear() {
  at::manual_seed(5);
  return {at::randn({7, 3}, at::kDouble), at::randn({4, 3}, at::kDouble)};
}

at::Tensor labels() { return integers({0, 3, -1, 2, 1, 1, 3}); }

// Of two classes in the plane with weights (2, 0) and (0, 1), and one feature of length 3 at so many degrees from the first.
double loss_at(double degrees, const Options& options) {
  const double angle = degrees * std::numbers::pi / 180;
  const Linear plane = {at::tensor({3 * std::cos(angle), 3 * std::sin(angle)}, at::kDouble).view({1, 2}),
                        at::tensor({2.0, 0.0, 0.0, 1.0}, at::kDouble).view({2, 2})};
  return large_margin_softmax(plane.logits(), integers({0}), plane.norms(), options).value.item<double>();
}

// Row by row, by angles.
double naive(const Linear& linear, const Options& options) {
  double sum = 0;
  int64_t used = 0;
  for (int64_t i = 0; i < linear.features.size(0); ++i) {
    const int64_t label = labels()[i].item<int64_t>();
    if (label < 0) continue;
    double others = 0;
    for (int64_t c = 0; c < linear.weights.size(0); ++c) {
      if (c != label) others += std::exp(linear.features[i].dot(linear.weights[c]).item<double>());
    }
    const double norm = linear.features[i].norm().item<double>() * linear.weights[label].norm().item<double>();
    const double plain = linear.features[i].dot(linear.weights[label]).item<double>();
    const double theta = std::acos(plain / norm), m = static_cast<double>(options.margin);
    const double k = std::floor(theta * m / std::numbers::pi);
    const double psi = std::pow(-1, k) * std::cos(m * theta) - 2 * k;
    const double lowered = (options.blend * plain + norm * psi) / (1 + options.blend);
    sum += std::log(1 + others / std::exp(lowered));
    ++used;
  }
  return sum / static_cast<double>(used);
}

TEST(LargeMarginSoftmax, IsTheNumberWorkedByHandInThePlane) {
  EXPECT_NEAR(loss_at(30, Options{.margin = 2}), 0.2014132779827524, 1e-12);                             // log(1 + e^(1.5 - 6 cos 60))
  EXPECT_NEAR(loss_at(120, Options{.margin = 2}), std::log1p(std::exp(3 * std::sqrt(0.75) + 9)), 1e-9);  // 6 (-cos 240 - 2) = -9
  EXPECT_NEAR(loss_at(100, Options{.margin = 4}), 22.3581567, 1e-6);                                     // 6 (cos 400 - 4)
  EXPECT_NEAR(loss_at(30, Options{.margin = 2, .blend = 1}), std::log1p(std::exp(1.5 - 1.5 - 3 * std::sqrt(0.75))), 1e-12);
}

TEST(LargeMarginSoftmax, IsThatOfTheAnglesForEveryMargin) {
  const Linear linear = random_linear();
  for (int64_t margin = 1; margin <= 8; ++margin) {
    for (const double blend : {0.0, 0.5, 5.0}) {
      const Options options = Options{.margin = margin, .blend = blend};
      const auto found = large_margin_softmax(linear.logits(), labels(), linear.norms(), options);
      EXPECT_NEAR(found.value.item<double>(), naive(linear, options), 1e-11) << margin << " " << blend;
      EXPECT_EQ(found.anchors_used, 6);
      EXPECT_TRUE(std::isnan(found.per_anchor[2].item<double>()));
    }
  }
}

TEST(LargeMarginSoftmax, GradientReachesFeaturesAndWeights) {
  for (int64_t margin : {1, 2, 3, 4}) {
    const Options options = Options{.margin = margin, .blend = 0.25};
    Linear linear = random_linear();
    linear.features.requires_grad_(true);
    linear.weights.requires_grad_(true);
    large_margin_softmax(linear.logits(), labels(), linear.norms(), options).value.backward();
    const Linear fixed = random_linear();
    const auto of_features = [&](const at::Tensor& x) { return naive({x, fixed.weights}, options); };
    const auto of_weights = [&](const at::Tensor& w) { return naive({fixed.features, w}, options); };
    EXPECT_LT(largest_difference(linear.features.grad(), numeric_gradient(of_features, fixed.features)), 1e-6) << margin;
    EXPECT_LT(largest_difference(linear.weights.grad(), numeric_gradient(of_weights, fixed.weights)), 1e-6) << margin;
  }
}

TEST(LargeMarginSoftmax, IsCrossEntropyWithMarginOneAndNeverLessThanIt) {
  const Linear linear = random_linear();
  const double plain = cross_entropy(linear.logits(), labels()).value.item<double>();
  EXPECT_NEAR(large_margin_softmax(linear.logits(), labels(), linear.norms(), Options{.margin = 1}).value.item<double>(), plain, 1e-12);
  EXPECT_NEAR(large_margin_softmax(linear.logits(), labels(), linear.norms(), Options{.margin = 4, .blend = 1e9}).value.item<double>(),
              plain, 1e-6);
  double before = plain;
  for (int64_t margin = 2; margin <= 8; ++margin) {
    const double found = large_margin_softmax(linear.logits(), labels(), linear.norms(), Options{.margin = margin}).value.item<double>();
    EXPECT_GT(found, before) << margin;
    before = found;
  }
}

TEST(LargeMarginSoftmax, ScaleStandsForNormsThatAreNotGiven) {
  const at::Tensor cosines = random_embeddings(7, 1, 4, 2).squeeze(1);
  const at::Tensor bound = at::full({7, 4}, 20, at::kDouble);
  EXPECT_EQ(large_margin_softmax(20 * cosines, labels(), {}, Options{.scale = 20}).value.item<double>(),
            large_margin_softmax(20 * cosines, labels(), bound, Options{.scale = 3}).value.item<double>());
}

TEST(LargeMarginSoftmax, RowsAlongTheirWeightAndRowsOfZerosHaveFiniteGradients) {
  Linear linear = {at::tensor({1.0, 0.0, -2.0, 0.0, 0.0, 0.0}, at::kFloat).view({3, 2}).requires_grad_(true),
                   at::tensor({3.0, 0.0, 0.0, 1.0}, at::kFloat).view({2, 2}).requires_grad_(true)};
  const auto found = large_margin_softmax(linear.logits(), integers({0, 0, 0}), linear.norms(), Options{.margin = 4});
  found.value.backward();
  EXPECT_NEAR(found.per_anchor[1].item<double>(), std::log1p(std::exp(6.0 * 7)), 1e-4);  // psi(pi) = 1 - 2 m
  EXPECT_TRUE(linear.features.grad().isfinite().all().item<bool>());
  EXPECT_TRUE(linear.weights.grad().isfinite().all().item<bool>());
}

TEST(LargeMarginSoftmax, BadInputIsRefusedInOneLine) {
  const Linear linear = random_linear();
  const auto message = [&](const at::Tensor& norms, const Options& options) {
    return std::string(thrown_by([&] { large_margin_softmax(linear.logits(), labels(), norms, options); }).what());
  };
  EXPECT_NE(message({}, Options{.scale = 0.01}).find("raise scale"), std::string::npos);
  EXPECT_NE(message(linear.norms() / 100, {}).find("give |W| |x| of these logits"), std::string::npos);
  EXPECT_NE(message(linear.norms().slice(1, 0, 2), {}).find("expected the maximum of each logit"), std::string::npos);
  EXPECT_NE(message(linear.norms(), Options{.margin = 0}).find("margin"), std::string::npos);
  EXPECT_NE(message(linear.norms(), Options{.blend = -1}).find("blend"), std::string::npos);
}

}  // namespace large_margin_softmax_test
}  // namespace debias
