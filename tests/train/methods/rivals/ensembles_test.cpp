// Classifiers beside a biased one: RUBi and learned-mixin.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "debias/encoders/state.h"
#include "debias/train/methods/rivals/ensembles.h"
#include "debias/train/methods/term.h"
#include "tests/support/embeddings.h"
#include "tests/support/finite_differences.h"
#include "tests/train/methods/rivals/classifiers.h"

namespace debias {
namespace ensembles_test {

// RUBi: the masked loss by hand and by finite differences, its first step written out, and what its gate reads.

constexpr const char* kLabels = "{name: rubi, branch_weight: 0.5}";
constexpr const char* kNetwork = "{name: rubi, bias: network, bias_encoder: {name: simple_convnet, kernel: 1}}";

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(Rubi, LossIsTheNumberWorkedByHand) {
  // Logits (2, 0), gate (ln 3, 0): the mask is (3/4, 1/2), the masked logits (1.5, 0).
  const at::Tensor found = rubi_losses(at::tensor({2.0, 0.0}, at::kDouble).view({1, 2}),
                                       at::tensor({std::log(3), 0.0}, at::kDouble).view({1, 2}), integers({0}));
  EXPECT_NEAR(found.item<double>(), std::log1p(std::exp(-1.5)), 1e-14);
}

TEST(Rubi, LossAndGradientAreThoseOfTheLoop) {
  at::manual_seed(2);
  const at::Tensor logits = at::randn({5, 3}, at::kDouble), gate = at::randn({5, 3}, at::kDouble), labels = integers({0, 2, 1, 1, 0});
  const auto naive = [&](const at::Tensor& z, const at::Tensor& c) {
    double sum = 0;
    for (int64_t i = 0; i < 5; ++i) {
      double total = 0;
      const auto masked = [&](int64_t j) { return z[i][j].item<double>() * sigmoid(c[i][j].item<double>()); };
      for (int64_t j = 0; j < 3; ++j) total += std::exp(masked(j));
      sum += std::log(total) - masked(labels[i].item<int64_t>());
    }
    return sum;
  };
  const at::Tensor z = logits.clone().requires_grad_(true), c = gate.clone().requires_grad_(true);
  const at::Tensor sum = rubi_losses(z, c, labels).sum();
  EXPECT_NEAR(sum.item<double>(), naive(logits, gate), 1e-12);
  sum.backward();
  EXPECT_LT(largest_difference(z.grad(), numeric_gradient([&](const at::Tensor& x) { return naive(x, gate); }, logits)), 1e-8);
  EXPECT_LT(largest_difference(c.grad(), numeric_gradient([&](const at::Tensor& x) { return naive(logits, x); }, gate)), 1e-8);
}

TEST(Rubi, TheFirstStepMasksByTheBiasLabel) {
  MethodWithBatch made(glyph_classifier("x", kLabels));
  const at::Tensor z = made.logits();
  const torch::nn::LinearImpl& gate = side_linear_of(made.parts.model, "gate");
  double expected = 0;
  for (size_t i = 0; i < made.batch.labels.size(); ++i) {
    const at::Tensor c = gate.weight.select(1, made.batch.biases[i]) + gate.bias;
    expected -= at::log_softmax(z[static_cast<int64_t>(i)] * c.sigmoid(), 0)[made.batch.labels[i]].item<double>();
  }
  EXPECT_NEAR(made.run().loss, expected / static_cast<double>(made.batch.labels.size()), 1e-5);
}

TEST(Rubi, TheGateHasItsOwnLossTimesItsWeight) {
  MethodWithBatch made(glyph_classifier("x", "{name: rubi, branch_weight: 3}"));
  const torch::nn::LinearImpl& gate = side_linear_of(made.parts.model, "gate");
  double expected = 0;
  for (size_t i = 0; i < made.batch.labels.size(); ++i) {
    expected -= at::log_softmax(gate.weight.select(1, made.batch.biases[i]) + gate.bias, 0)[made.batch.labels[i]].item<double>();
  }
  const StepReport report = made.run();
  const auto* found = report.diagnostics.metric_of_method("bias_loss");
  EXPECT_NEAR(found->sum / found->count, 3 * expected / static_cast<double>(made.batch.labels.size()), 1e-5);
}

TEST(Rubi, TheFirstStepMasksByABiasedNetwork) {
  for (const bool trains : {true, false}) {
    MethodWithBatch made(glyph_classifier("x", fmt::format("{{name: rubi, bias: network, train_gate: {}}}", trains)));
    const at::Tensor known = made.side().features(made.batch.images(), ForwardOptions{}).select(1, 0);
    const at::Tensor gate = side_linear_of(made.parts.model, "gate").forward(known);
    const double expected = rubi_losses(made.logits(), gate, made.labels()).mean().item<double>();
    EXPECT_NEAR(made.run().loss, expected, 1e-5) << trains;
  }
}

// By the gradients that a step leaves: of the biased network those of its own cross-entropy and no other.
TEST(Rubi, TheBiasedNetworkLearnsByItsOwnCrossEntropyAlone) {
  MethodWithBatch made(glyph_classifier("x", kNetwork)), alone(glyph_classifier("x", kNetwork));
  made.run();
  cross_entropy_by_sample(alone.side_logits(), alone.labels()).mean().backward();
  const auto found = made.side().parameters(), expected = alone.side().parameters();
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_LT(largest_difference(found[i].grad(), expected[i].grad()), 1e-6) << i;
}

TEST(Rubi, TheGateStaysAsItWasDrawnWhereItIsNotTrained) {
  for (const bool trains : {true, false}) {
    MethodWithBatch made(glyph_classifier("x", fmt::format("{{name: rubi, train_gate: {}}}", trains)));
    const at::Tensor before = side_linear_of(made.parts.model, "gate").weight.detach().clone();
    made.run();
    EXPECT_EQ(side_linear_of(made.parts.model, "gate").weight.detach().equal(before), !trains);
  }
}

TEST(Rubi, ItsGateLearnsTheBiasAndTheClassifierIsEvaluatedWithoutIt) {
  Config root = changed(glyph_classifier("x", "rubi"), {"optimizer={name: adam, learning_rate: 3e-2}"});
  const auto line = trained(root, 6);
  EXPECT_GT(line.at("bias_acc1").get<double>(), 0.6);  // the colour gives the class away at four fifths of the images
  EXPECT_TRUE(line.contains("acc1"));
}

// Learned-mixin: its loss by hand and by finite differences, its first step written out, and a biased network that is trained before.

constexpr const char* kMixinLabels = "{name: learned_mixin, entropy: 0.3}";
constexpr const char* kMixinNetwork = "{name: learned_mixin, bias: network, pretrain: 1, bias_encoder: {name: simple_convnet, kernel: 1}}";

double naive_losses(const at::Tensor& logits, const at::Tensor& log_bias, const at::Tensor& factor, const at::Tensor& labels,
                    double weight) {
  double sum = 0;
  for (int64_t i = 0; i < logits.size(0); ++i) {
    double mixed = 0, scaled = 0;
    const double g = factor[i].item<double>();
    for (int64_t j = 0; j < logits.size(1); ++j) {
      mixed += std::exp(logits[i][j].item<double>() + g * log_bias[i][j].item<double>());
      scaled += std::exp(g * log_bias[i][j].item<double>());
    }
    const int64_t y = labels[i].item<int64_t>();
    sum += std::log(mixed) - logits[i][y].item<double>() - g * log_bias[i][y].item<double>();
    for (int64_t j = 0; j < logits.size(1); ++j) {
      const double p = std::exp(g * log_bias[i][j].item<double>()) / scaled;
      sum -= weight * p * std::log(p);
    }
  }
  return sum;
}

TEST(LearnedMixin, LossIsTheNumberWorkedByHand) {
  // b = (3/4, 1/4) to the power 1, logits (0, ln 3): the product is (3/4, 3/4), so that p = 1/2; H(b) = 2 ln 2 - 3/4 ln 3.
  const at::Tensor logits = at::tensor({0.0, std::log(3)}, at::kDouble).view({1, 2});
  const at::Tensor log_bias = at::tensor({0.75, 0.25}, at::kDouble).log().view({1, 2});
  const at::Tensor found = learned_mixin_losses(logits, log_bias, at::ones({1}, at::kDouble), integers({0}), 0.36);
  EXPECT_NEAR(found.item<double>(), std::log(2) + 0.36 * (2 * std::log(2) - 0.75 * std::log(3)), 1e-14);
}

TEST(LearnedMixin, LossAndGradientAreThoseOfTheLoop) {
  at::manual_seed(4);
  const at::Tensor logits = at::randn({5, 3}, at::kDouble), log_bias = at::randn({5, 3}, at::kDouble);
  const at::Tensor factor = at::rand({5}, at::kDouble) * 2, labels = integers({0, 2, 1, 1, 0});
  for (const double weight : {0.0, 0.36}) {
    const at::Tensor z = logits.clone().requires_grad_(true), g = factor.clone().requires_grad_(true);
    const at::Tensor sum = learned_mixin_losses(z, log_bias, g, labels, weight).sum();
    EXPECT_NEAR(sum.item<double>(), naive_losses(logits, log_bias, factor, labels, weight), 1e-12);
    sum.backward();
    const auto of_logits = [&](const at::Tensor& x) { return naive_losses(x, log_bias, factor, labels, weight); };
    const auto of_factor = [&](const at::Tensor& x) { return naive_losses(logits, log_bias, x, labels, weight); };
    EXPECT_LT(largest_difference(z.grad(), numeric_gradient(of_logits, logits)), 1e-8);
    EXPECT_LT(largest_difference(g.grad(), numeric_gradient(of_factor, factor)), 1e-8);
  }
}

TEST(LearnedMixin, LogitsOfABiasedNetworkServeAsItsLogProbabilities) {
  at::manual_seed(4);
  const at::Tensor logits = at::randn({5, 3}, at::kDouble), biased = at::randn({5, 3}, at::kDouble);
  const at::Tensor factor = at::rand({5}, at::kDouble), labels = integers({0, 2, 1, 1, 0});
  EXPECT_LT(largest_difference(learned_mixin_losses(logits, biased, factor, labels, 0.36),
                               learned_mixin_losses(logits, at::log_softmax(biased, 1), factor, labels, 0.36)),
            1e-14);
}

TEST(LearnedMixin, TheFirstStepMixesWithTheCountOfTheTrainingSet) {
  MethodWithBatch made(glyph_classifier("x", kMixinLabels));
  const at::Tensor prior = label_given_bias(*made.input.dataset);  // [C, bias labels]
  const at::Tensor features = made.features(), z = made.logits().to(at::kDouble);
  const torch::nn::LinearImpl& mixin = side_linear_of(made.parts.model, "mixin");
  double expected = 0;
  for (size_t i = 0; i < made.batch.labels.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    const double a = (mixin.weight[0].dot(features[row]) + mixin.bias[0]).item<double>();
    const at::Tensor log_b = (prior.select(1, made.batch.biases[i]) + 1e-9).log();
    expected += naive_losses(z.slice(0, row, row + 1), log_b.view({1, -1}), at::full({1}, std::log1p(std::exp(a)), at::kDouble),
                             integers({made.batch.labels[i]}), 0.3);
  }
  EXPECT_NEAR(made.run().loss, expected / static_cast<double>(made.batch.labels.size()), 1e-4);
}

TEST(LearnedMixin, TheBiasedNetworkIsTrainedFirstAndAlone) {
  MethodWithBatch made(glyph_classifier("x", kMixinNetwork));
  const auto values = [&](const torch::nn::Module& module) {
    std::vector<at::Tensor> all;  // running statistics are to stay, too
    for (const auto& [name, tensor] : named_state(module)) all.push_back(tensor.detach().to(at::kDouble).flatten());
    return at::cat(all);
  };
  const torch::nn::Module& biased = *made.parts.model.side.at(0).module;
  const torch::nn::Module& evaluated = *made.parts.model.encoder;
  for (const bool first : {true, false}) {
    made.batch.epoch = first ? 0 : 1;
    const at::Tensor biased_before = values(biased), evaluated_before = values(evaluated);
    made.run(first ? 1 : 2);
    EXPECT_EQ(values(biased).equal(biased_before), !first);
    EXPECT_EQ(values(evaluated).equal(evaluated_before), first);
  }
}

TEST(LearnedMixin, AfterPretrainingAnImageHasTheSamePredictionInEveryBatch) {
  MethodWithBatch made(glyph_classifier("x", kMixinNetwork));
  made.run();
  made.batch.epoch = 1;
  made.side().encoder()->train(false);
  const at::Tensor log_bias = made.side_logits();
  made.side().encoder()->train(true);
  const at::Tensor factor = at::softplus(side_linear_of(made.parts.model, "mixin").forward(made.features())).squeeze(1);
  const at::Tensor expected = learned_mixin_losses(made.logits(), log_bias, factor, made.labels(), 0.36).mean();
  EXPECT_NEAR(made.run(2).loss, expected.item<double>(), 1e-5);
}

TEST(LearnedMixin, TheMixinStaysAsItWasDrawnWhereItIsNotTrained) {
  for (const bool trains : {true, false}) {
    MethodWithBatch made(glyph_classifier("x", fmt::format("{{name: learned_mixin, train_mixin: {}}}", trains)));
    const at::Tensor before = side_linear_of(made.parts.model, "mixin").weight.detach().clone();
    made.run();
    EXPECT_EQ(side_linear_of(made.parts.model, "mixin").weight.detach().equal(before), !trains);
  }
}

TEST(LearnedMixin, EntropyKeepsThePredictorInTheEnsemble) {
  const auto factor = [](const char* entropy) {
    return trained(glyph_classifier("x", fmt::format("{{name: learned_mixin, entropy: {}}}", entropy)), 3).at("mixin_factor").get<double>();
  };
  EXPECT_GT(factor("2"), factor("0"));
}

}  // namespace ensembles_test
}  // namespace debias
