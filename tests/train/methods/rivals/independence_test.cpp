// Features that are to say nothing of the bias: ReBias, learning not to learn, and HSIC.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/utils/convert_parameters.h>

#include <cmath>
#include <limits>

#include "debias/train/methods/rivals/independence.h"
#include "tests/support/embeddings.h"
#include "tests/support/finite_differences.h"
#include "tests/train/methods/rivals/classifiers.h"

namespace debias {
namespace independence_test {

// ReBias: its first step written out, updates in turn, kernels of the data's own size, and that features become independent.

constexpr const char* kMethod = "{name: rebias, radius: 1, bias_encoder: {name: simple_convnet, kernel: 1}}";
constexpr const char* kOwnRadius = "{name: rebias, bias_encoder: {name: simple_convnet, kernel: 1}}";

at::Tensor values(const torch::nn::Module& module) { return torch::nn::utils::parameters_to_vector(module.parameters()).detach().clone(); }

at::Tensor gradients(const torch::nn::Module& module) {
  std::vector<at::Tensor> all;
  for (const auto& parameter : module.parameters()) all.push_back(parameter.grad().flatten());
  return at::cat(all);
}

TEST(Rebias, TheFirstLossIsCrossEntropyWithHsic) {
  MethodWithBatch made(glyph_classifier("x", "{name: rebias, weight: 30, radius: 2, bias_encoder: {name: simple_convnet, kernel: 1}}"));
  const at::Tensor of_bias = made.side().features(made.batch.images(), ForwardOptions{}).select(1, 0);
  const at::Tensor dependence = unbiased_hsic(made.features(), of_bias, 2, 2);
  const at::Tensor expected = cross_entropy_by_sample(made.logits(), made.labels()).mean() + 30 * dependence;
  EXPECT_NEAR(made.run().loss, expected.item<double>(), 1e-5);
  EXPECT_GT(std::abs(30 * dependence.item<double>()), 1e-3);  // so that the term is seen
}

TEST(Rebias, ALastBatchOfTooFewImagesIsRefused) {
  Config root = changed(glyph_classifier("x", kMethod), {"data.train.train_count=99", "train.batch_size=16", "train.drop_last=false"});
  expect_refused(root, "the last batch of an epoch has 3");
  root.assign("data.train.train_count=100");
  EXPECT_GT(trained(root, 1).at("hsic").get<double>(), -1);
}

// Plain gradient descent: the biased network moves along the gradient of its own loss, with the features of the updated classifier.
TEST(Rebias, TheBiasedNetworkIsUpdatedAgainstTheUpdatedClassifier) {
  const Config root =
      changed(glyph_classifier("x", "{name: rebias, bias_weight: 2, radius: 1, bias_encoder: {name: simple_convnet, kernel: 1}}"),
              {"optimizer={name: sgd, learning_rate: 0.1, momentum: 0}"});
  MethodWithBatch made(root), alone(root);
  const at::Tensor before = values(made.side());
  made.run();
  const at::Tensor features = made.features().detach(), rows = alone.side().features(made.batch.images(), ForwardOptions{});
  (cross_entropy_by_sample(alone.side().logits(rows), made.labels()).mean() - 2 * unbiased_hsic(features, rows.select(1, 0), 1, 1))
      .backward();
  EXPECT_LT(largest_difference(values(made.side()), before - 0.1 * gradients(alone.side())), 1e-5);
  EXPECT_GT(largest_difference(values(made.side()), before), 1e-4);
}

TEST(Rebias, TheClassifierIsMovedByHsicAndTheBiasedNetworkByItsOwnWeight) {
  const auto after = [](const char* weights) {
    MethodWithBatch made(
        glyph_classifier("x", fmt::format("{{name: rebias, {}, radius: 1, bias_encoder: {{name: simple_convnet, kernel: 1}}}}", weights)));
    made.run();
    return std::pair(values(*made.parts.model.encoder), values(made.side()));
  };
  const auto plain = after("weight: 0, bias_weight: 0"), outer = after("weight: 1, bias_weight: 0"),
             inner = after("weight: 0, bias_weight: 1");
  EXPECT_FALSE(outer.first.equal(plain.first));
  EXPECT_TRUE(outer.second.equal(plain.second));
  EXPECT_TRUE(inner.first.equal(plain.first));
  EXPECT_FALSE(inner.second.equal(plain.second));
}

TEST(Rebias, RadiiAreTheMedianDistancesOfTheFirstBatchOfAnEpoch) {
  MethodWithBatch made(glyph_classifier("x", kOwnRadius));
  const double of_classifier = median_distance(made.features().detach()),
               of_bias = median_distance(made.side().features(made.batch.images(), ForwardOptions{}).select(1, 0).detach());
  made.run();
  const at::Tensor radii = made.state().at("rebias.radii");
  EXPECT_NEAR(radii[0].item<double>(), of_classifier, 1e-5 * of_classifier);
  EXPECT_NEAR(radii[1].item<double>(), of_bias, 1e-5 * of_bias);
  made.batch.number = 1;
  made.run(2);
  EXPECT_TRUE(made.state().at("rebias.radii").equal(radii));
  EXPECT_EQ(MethodWithBatch(glyph_classifier("x", kMethod)).state().at("rebias.radii")[0].item<double>(), 1);
}

TEST(Rebias, FeaturesBecomeIndependentOfTheBiasedNetwork) {
  const auto dependence = [](int weight) {
    const std::string method =
        fmt::format("{{name: rebias, weight: {}, bias_weight: 0, bias_encoder: {{name: simple_convnet, kernel: 1}}}}", weight);
    return trained(glyph_classifier("x", method), 4).at("hsic").get<double>();
  };
  EXPECT_LT(dependence(100), dependence(0) / 2);
}

// Learning not to learn: reversed gradients and entropies by hand, both updates of a step written out, and that the encoder hides the bias.

constexpr const char* kLnl = "{name: lnl, entropy_weight: 0.5, hidden: 6}";

const Adversary& adversary(const MethodWithBatch& made) { return dynamic_cast<const Adversary&>(*made.parts.model.side.at(0).module); }

TEST(Lnl, EntropyIsTheNumberWorkedByHand) {
  const at::Tensor logits = at::tensor({0.0, 0.0, 0.0, 0.0, std::log(3), 0.0}, at::kDouble).view({3, 2});
  const at::Tensor found = negative_entropy(logits);
  EXPECT_NEAR(found[0].item<double>(), -std::log(2), 1e-15);
  EXPECT_NEAR(found[2].item<double>(), 0.75 * std::log(0.75) + 0.25 * std::log(0.25), 1e-15);
  EXPECT_EQ(negative_entropy(at::tensor({1e6, 0.0}, at::kFloat).view({1, 2})).item<double>(), 0);
}

TEST(Lnl, EntropyHasTheGradientOfFiniteDifferences) {
  at::manual_seed(1);
  const at::Tensor logits = at::randn({4, 3}, at::kDouble);
  const at::Tensor leaf = logits.clone().requires_grad_(true);
  negative_entropy(leaf).sum().backward();
  const auto value = [](const at::Tensor& z) { return negative_entropy(z).sum().item<double>(); };
  EXPECT_LT(largest_difference(leaf.grad(), numeric_gradient(value, logits)), 1e-8);
}

// Moments and decay of the optimizer would move an encoder that the second update reached.
TEST(Lnl, WithoutReversalAndEntropyTheEncoderIsThatOfCrossEntropy) {
  const auto after = [](const std::string& method) {
    MethodWithBatch made(changed(glyph_classifier("x", method), {"optimizer={name: adam, learning_rate: 1e-2, weight_decay: 0.1}"}));
    for (int64_t step = 1; step <= 3; ++step) made.run(step);
    return values(*made.parts.model.encoder);
  };
  EXPECT_LT(largest_difference(after("{name: lnl, entropy_weight: 0, reversal: 0}"), after("simclr")), 1e-6);
}

TEST(Lnl, ReversedRowsAreTheRowsWithTheGradientTurned) {
  at::manual_seed(1);
  const at::Tensor rows = at::randn({4, 3}).requires_grad_(true), weights = at::randn({4, 3});
  const at::Tensor reversed = with_reversed_gradient(rows, 0.1);
  EXPECT_TRUE(reversed.equal(rows));
  (reversed * weights).sum().backward();
  EXPECT_LT(largest_difference(rows.grad(), -0.1 * weights), 1e-7);
}

TEST(Lnl, AFixedAdversaryPassesTheGradientToTheFeaturesAlone) {
  for (const int64_t hidden : {0, 5}) {
    const Adversary adversary(3, hidden, 4, 7);
    at::manual_seed(1);
    const at::Tensor rows = at::randn({6, 3}).requires_grad_(true);
    EXPECT_TRUE(adversary.logits(rows, true).equal(adversary.logits(rows)));
    adversary.logits(rows, true).square().sum().backward();
    EXPECT_GT(rows.grad().abs().max().item<double>(), 0);
    for (const auto& parameter : adversary.parameters()) EXPECT_FALSE(parameter.grad().defined());
    EXPECT_EQ(adversary.parameters().size(), hidden > 0 ? 4u : 2u);
  }
}

TEST(Lnl, TheFirstLossIsCrossEntropyWithTheEntropyOfTheAnswer) {
  MethodWithBatch made(glyph_classifier("x", kLnl));
  const at::Tensor z = made.logits().to(at::kDouble), answer = adversary(made).logits(made.features()).to(at::kDouble).softmax(1);
  double expected = 0;
  for (size_t i = 0; i < made.batch.labels.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    expected -= at::log_softmax(z[row], 0)[made.batch.labels[i]].item<double>();
    for (int64_t b = 0; b < answer.size(1); ++b) {
      const double a = answer[row][b].item<double>();
      expected += 0.5 * a * std::log(a);
    }
  }
  EXPECT_NEAR(made.run().loss, expected / static_cast<double>(made.batch.labels.size()), 1e-5);
}

// Plain gradient descent tells the two updates apart: the adversary moves by the second alone, and along its own gradient.
TEST(Lnl, TheSecondUpdateTeachesTheAdversaryOnTheUpdatedEncoder) {
  const Config root = changed(glyph_classifier("x", "{name: lnl, entropy_weight: 0, reversal: 0, hidden: 6}"),
                              {"optimizer={name: sgd, learning_rate: 0.1, momentum: 0}"});
  MethodWithBatch made(root), again(root);
  const at::Tensor before = values(adversary(made));
  made.run();
  const at::Tensor logits = adversary(again).logits(made.features().detach());  // of the encoder after the first update
  cross_entropy_by_sample(logits, at::tensor(made.batch.biases, at::kLong)).mean().backward();
  EXPECT_LT(largest_difference(values(adversary(made)), before - 0.1 * gradients(adversary(again))), 1e-6);
}

TEST(Lnl, TheEncoderIsMovedAgainstTheAdversary) {
  const auto loss_of_first_adversary = [](const char* reversal) {  // on the features of the moved encoder
    MethodWithBatch made(glyph_classifier("x", fmt::format("{{name: lnl, entropy_weight: 0, reversal: {}}}", reversal)));
    const MethodWithBatch first(glyph_classifier("x", fmt::format("{{name: lnl, entropy_weight: 0, reversal: {}}}", reversal)));
    made.run();
    const at::Tensor logits = adversary(first).logits(made.features());
    return cross_entropy_by_sample(logits, at::tensor(made.batch.biases, at::kLong)).mean().item<double>();
  };
  EXPECT_GT(loss_of_first_adversary("1"), loss_of_first_adversary("0"));
}

TEST(Lnl, TheEncoderHidesTheBiasFromTheAdversary) {
  const auto accuracy = [](const char* weights) {
    Config root = glyph_classifier("x", fmt::format("{{name: lnl, hidden: 0, {}}}", weights));
    return trained(root, 8).at("adversary_acc1").get<double>();
  };
  EXPECT_LT(accuracy("entropy_weight: 1, reversal: 1") + 0.15, accuracy("entropy_weight: 0, reversal: 0"));
}

TEST(SecondUpdate, IsRefusedInOneLineBeforeAnythingChanges) {
  MethodWithBatch made(glyph_classifier("x", kLnl));
  const at::Tensor weight = made.parts.model.encoder->parameters().front();
  const at::Tensor before = weight.detach().clone();
  const at::Tensor infinite = weight.sum() * std::numeric_limits<float>::infinity();
  const at::Tensor steep = (weight * 0).sqrt().sum();  // 0, with a gradient that is not finite
  for (const auto& loss : {infinite, steep}) {
    const std::string message =
        error_of(ErrorKind::kNumeric, [&] { second_update(made.parts.model, *made.parts.optimizers, loss, made.batch, "adversary"); });
    EXPECT_EQ(message.find("training stopped at epoch 1, batch 0: the loss of the adversary is"), 0u) << message;
    EXPECT_TRUE(weight.detach().equal(before));
  }
}

// HSIC: the estimator over quadruples that it is the mean of, the released code's other way, and what independence gives.

at::Tensor rows(int64_t n, int64_t dimensions, int64_t seed) {
  at::manual_seed(seed);
  return at::randn({n, dimensions}, at::kDouble);
}

double kernel(const at::Tensor& of, int64_t i, int64_t j, double sigma) {
  return std::exp(-(of[i] - of[j]).square().sum().item<double>() / (2 * sigma * sigma));
}

// The mean over ordered quadruples of different rows of k(i, j) [l(i, j) + l(q, r) - 2 l(i, q)] (Song et al. 2012).
double over_quadruples(const at::Tensor& x, const at::Tensor& y, double sigma_x, double sigma_y) {
  double sum = 0;
  int64_t count = 0;
  const int64_t n = x.size(0);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t q = 0; q < n; ++q) {
        for (int64_t r = 0; r < n; ++r) {
          if (i == j || i == q || i == r || j == q || j == r || q == r) continue;
          sum += kernel(x, i, j, sigma_x) * (kernel(y, i, j, sigma_y) + kernel(y, q, r, sigma_y) - 2 * kernel(y, i, q, sigma_y));
          ++count;
        }
      }
    }
  }
  return sum / static_cast<double>(count);
}

TEST(Hsic, IsTheMeanOverQuadruples) {
  for (const int64_t n : {4, 5, 9}) {
    const at::Tensor x = rows(n, 3, n), y = at::cat({x.slice(1, 0, 1), rows(n, 1, 3)}, 1);
    EXPECT_NEAR(unbiased_hsic(x, y, 1, 0.7).item<double>(), over_quadruples(x, y, 1, 0.7), 1e-13) << n;
  }
}

// The released code takes 1 from every entry of a kernel matrix in place of its diagonal: a constant, which the estimator does not see.
TEST(Hsic, IsThatOfTheReleasedCode) {
  const at::Tensor x = rows(8, 3, 1), y = rows(8, 2, 2);
  const auto shifted = [](const at::Tensor& of) {
    at::Tensor k = at::zeros({8, 8}, at::kDouble);
    for (int64_t i = 0; i < 8; ++i) {
      for (int64_t j = 0; j < 8; ++j) k[i][j] = kernel(of, i, j, 1) - 1;
    }
    return k;
  };
  const at::Tensor k = shifted(x), l = shifted(y);
  const at::Tensor sum = k.mm(l).trace() + k.sum() * l.sum() / (7.0 * 6.0) - 2 * k.sum(0).dot(l.sum(0)) / 6.0;
  EXPECT_NEAR(unbiased_hsic(x, y, 1, 1).item<double>(), (sum / (8.0 * 5.0)).item<double>(), 1e-14);
}

TEST(Hsic, IsLargeForFeaturesThatFollowEachOtherAndNearZeroForOthers) {
  const at::Tensor x = rows(200, 2, 1);
  const double same = unbiased_hsic(x, 3 * x, 1, 3).item<double>(), other = unbiased_hsic(x, rows(200, 2, 2), 1, 1).item<double>();
  EXPECT_GT(same, 0.03);
  EXPECT_LT(std::abs(other), same / 20);
}

TEST(Hsic, GradientIsThatOfFiniteDifferencesInBoth) {
  const at::Tensor x = rows(6, 3, 1), y = rows(6, 2, 2);
  const at::Tensor a = x.clone().requires_grad_(true), b = y.clone().requires_grad_(true);
  unbiased_hsic(a, b, 1, 2).backward();
  const auto of_x = [&](const at::Tensor& moved) { return unbiased_hsic(moved, y, 1, 2).item<double>(); };
  const auto of_y = [&](const at::Tensor& moved) { return unbiased_hsic(x, moved, 1, 2).item<double>(); };
  EXPECT_LT(largest_difference(a.grad(), numeric_gradient(of_x, x)), 1e-9);
  EXPECT_LT(largest_difference(b.grad(), numeric_gradient(of_y, y)), 1e-9);
}

TEST(Hsic, IsZeroWithAGradientOfZeroForLessThanFourRows) {
  const at::Tensor x = rows(3, 2, 1).requires_grad_(true);
  const at::Tensor found = unbiased_hsic(x, rows(3, 2, 2), 1, 1);
  found.backward();
  EXPECT_EQ(found.item<double>(), 0);
  EXPECT_EQ(x.grad().abs().max().item<double>(), 0);
}

TEST(Hsic, RadiusIsTheMedianDistanceOfDifferentRows) {
  const at::Tensor line = at::tensor({0.0, 1.0, 5.0}, at::kDouble).view({3, 1});  // distances 1, 4 and 5
  EXPECT_NEAR(median_distance(line), 4, 1e-12);
  EXPECT_EQ(median_distance(at::zeros({5, 2})), 1);
  EXPECT_EQ(median_distance(at::zeros({1, 2})), 1);
}

}  // namespace independence_test
}  // namespace debias
