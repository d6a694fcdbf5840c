// Cross-entropy on logits, and the checks that all objectives on logits share.
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
namespace cross_entropy_test {

at::Tensor row() { return at::tensor({1.0, -0.5, 0.25}, at::kDouble).unsqueeze(0); }

TEST(CrossEntropyEdges, HugeLogitsAndUnknownLabelsStayFinite) {
  for (auto type : {at::kFloat, at::kDouble}) {
    const at::Tensor z = at::tensor({1e30, -1e30, 0.0, 5.0, 5.0, 5.0}, at::kDouble).view({2, 3}).to(type).requires_grad_(true);
    for (const auto& labels : {integers({0, 1}), integers({1, -1}), integers({-1, -1})}) {
      const auto found = cross_entropy(z, labels);
      found.value.backward();
      EXPECT_TRUE(std::isfinite(found.value.item<double>()));
    }
    EXPECT_TRUE(z.grad().isfinite().all().item<bool>());
  }
  EXPECT_EQ(cross_entropy(row(), integers({-1})).value.item<double>(), 0);
  EXPECT_EQ(cross_entropy(row(), integers({-1})).anchors_used, 0);
}

TEST(CrossEntropyEdges, OneClassCostsNothing) {
  EXPECT_EQ(cross_entropy(at::ones({3, 1}, at::kDouble), integers({0, 0, 0})).value.item<double>(), 0);
}

Error refusal(const ObjectiveInput& input) {
  return thrown_by([&] { cross_entropy(input, {}); });
}

TEST(CrossEntropyErrors, LabelsOutOfRangeAreNamedAndCounted) {
  const at::Tensor z = at::zeros({4, 3}, at::kDouble);
  const Error high = refusal({.z = z, .labels = integers({0, 3, 7, -1})});
  EXPECT_EQ(high.kind(), ErrorKind::kData);
  EXPECT_STREQ(high.what(),
               "cross_entropy: label 3 of sample 1 is outside 0..2, the logits given (2 of 4 are; -1 = unknown); correct them");
  EXPECT_EQ(refusal({.z = z, .labels = integers({0, 0, 0, -2})}).kind(), ErrorKind::kData);
}

TEST(CrossEntropyErrors, OtherInputIsRefused) {
  const at::Tensor z = at::zeros({2, 3}, at::kDouble);
  EXPECT_EQ(refusal({.z = z}).kind(), ErrorKind::kUsage);
  EXPECT_EQ(refusal({.z = z.unsqueeze(1), .labels = integers({0, 1})}).kind(), ErrorKind::kData);
  EXPECT_EQ(refusal({.z = z, .labels = integers({0})}).kind(), ErrorKind::kData);
  EXPECT_EQ(refusal({.z = z, .labels = integers({0, 1}), .engine = Engine::kFused}).kind(), ErrorKind::kUsage);
}

}  // namespace cross_entropy_test

// Generalized cross-entropy between its two ends, and the weighted form that biased networks are trained with.
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

// Bias-balanced cross-entropy with a prior given and one counted from the batch.
namespace bias_balanced_test {

at::Tensor row() { return at::tensor({1.0, -0.5, 0.25}, at::kDouble).unsqueeze(0); }
at::Tensor prior() { return at::tensor({0.7, 0.2, 0.1}, at::kDouble).unsqueeze(1); }  // [3 labels, 1 bias label]

struct Batch {
  at::Tensor z, labels, bias;
};

Batch batch() {
  at::manual_seed(2);
  return {at::randn({9, 3}, at::kDouble), integers({0, 1, 0, 2, -1, 0, 1, 2, 0}), integers({4, 4, 7, 7, 4, -1, 7, 4, 4})};
}

TEST(BiasBalancedLaws, ACountedPriorIsThatTableGiven) {
  const Batch b = batch();
  const at::Tensor table = at::tensor({2.0 / 4, 1.0 / 3, 1.0 / 4, 1.0 / 3, 1.0 / 4, 1.0 / 3}, at::kDouble).view({3, 2});
  const at::Tensor columns = b.bias.eq(7).to(at::kLong).masked_fill(b.bias.lt(0), -1);
  const auto counted = bias_balanced(b.z, b.labels, b.bias), given = bias_balanced(b.z, b.labels, columns, table);
  EXPECT_NEAR(counted.value.item<double>(), given.value.item<double>(), 1e-12);
  EXPECT_EQ(counted.anchors_used, given.anchors_used);
}

TEST(BiasBalancedLaws, AUniformPriorIsPlainCrossEntropy) {
  const Batch b = batch();
  const at::Tensor uniform = at::full({3, 8}, 1.0 / 3, at::kDouble), bias = b.bias.clamp_min(0);
  EXPECT_NEAR(bias_balanced(b.z, b.labels, bias, uniform).value.item<double>(), cross_entropy(b.z, b.labels).value.item<double>(), 1e-12);
}

TEST(BiasBalancedEdges, LabelsThatThePriorRulesOutStayFinite) {
  const at::Tensor certain = at::tensor({1.0, 0.0, 0.0}, at::kFloat).unsqueeze(1), z = row().to(at::kFloat).requires_grad_(true);
  const auto found = bias_balanced(z, integers({1}), integers({0}), certain);
  found.value.backward();
  EXPECT_NEAR(found.value.item<double>(), std::log(1e9) + 1.5, 1e-4);
  EXPECT_TRUE(z.grad().isfinite().all().item<bool>());
}

TEST(BiasBalancedEdges, NoRowLeftIsZero) {
  for (const auto& table : {at::Tensor(), prior()}) {
    const auto found = bias_balanced(row(), integers({0}), integers({-1}), table);
    EXPECT_EQ(found.value.item<double>(), 0);
    EXPECT_EQ(found.anchors_used, 0);
  }
}

ErrorKind refusal(const ObjectiveInput& input) {
  const Error error = thrown_by([&] { bias_balanced(input, {}); });
  EXPECT_EQ(std::string(error.what()).rfind("bias_balanced: ", 0), 0u) << error.what();
  return error.kind();
}

TEST(BiasBalancedErrors, AreNamed) {
  const ObjectiveInput good = {.z = row(), .labels = integers({0}), .bias = integers({0}), .prior = prior()};
  const auto changed = [&](auto change) {
    ObjectiveInput bad = good;
    change(bad);
    return refusal(bad);
  };
  EXPECT_EQ(changed([](auto& bad) { bad.labels = at::Tensor(); }), ErrorKind::kUsage);
  EXPECT_EQ(changed([](auto& bad) { bad.bias = at::Tensor(); }), ErrorKind::kUsage);
  EXPECT_EQ(changed([](auto& bad) { bad.bias = integers({1}); }), ErrorKind::kData);
  EXPECT_EQ(changed([](auto& bad) { bad.bias = integers({-2}); }), ErrorKind::kData);
  EXPECT_EQ(changed([](auto& bad) { bad.bias = integers({-2}), bad.prior = at::Tensor(); }), ErrorKind::kData);
  EXPECT_EQ(changed([](auto& bad) { bad.bias = integers({0, 0}); }), ErrorKind::kData);
  EXPECT_EQ(changed([](auto& bad) { bad.prior = prior().t(); }), ErrorKind::kData);
  EXPECT_EQ(changed([](auto& bad) { bad.prior = prior() * 2; }), ErrorKind::kData);
  EXPECT_EQ(changed([](auto& bad) { bad.prior = prior() / 2; }), ErrorKind::kData);
  EXPECT_EQ(changed([](auto& bad) { bad.prior = prior().to(at::kLong); }), ErrorKind::kData);
  EXPECT_EQ(changed([](auto& bad) { bad.prior = prior() - 0.2; }), ErrorKind::kData);
}

}  // namespace bias_balanced_test

// Large-margin softmax: by hand in the plane, against angles, and what it becomes at its ends.
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
