// Learned-mixin: its loss by hand and by finite differences, its first step written out, and a biased network that is trained before.
#include "debias/train/methods/rivals/learned_mixin.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "debias/encoders/state.h"
#include "debias/train/methods/bias_data.h"
#include "debias/train/methods/rivals/classification.h"
#include "tests/support/embeddings.h"
#include "tests/support/finite_differences.h"
#include "tests/train/methods/rivals/glyph_classifier.h"

namespace debias {
namespace learned_mixin_test {

constexpr const char* kLabels = "{name: learned_mixin, entropy: 0.3}";
constexpr const char* kNetwork = "{name: learned_mixin, bias: network, pretrain: 1, bias_encoder: {name: simple_convnet, kernel: 1}}";

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
  MethodWithBatch made(glyph_classifier("x", kLabels));
  const Model& model = made.parts.model;
  const at::Tensor prior = label_given_bias(*made.input.dataset);  // [C, bias labels]
  double expected = 0;
  {
    const at::NoGradGuard no_grad;
    const ModelOutput output = forward(model, made.batch.images(), ForwardOptions{});
    const at::Tensor z = model.classifier->logits(output.features).to(at::kDouble);
    const torch::nn::LinearImpl& mixin = side_linear_of(model, "mixin");
    for (size_t i = 0; i < made.batch.labels.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      const double a = (mixin.weight[0].dot(output.features[row][0]) + mixin.bias[0]).item<double>();
      const at::Tensor log_b = (prior.select(1, made.batch.biases[i]) + 1e-9).log();
      expected += naive_losses(z.slice(0, row, row + 1), log_b.view({1, -1}), at::full({1}, std::log1p(std::exp(a)), at::kDouble),
                               integers({made.batch.labels[i]}), 0.3);
    }
  }
  EXPECT_NEAR(made.parts.method->run(made.batch, 1).loss, expected / static_cast<double>(made.batch.labels.size()), 1e-4);
}

TEST(LearnedMixin, TheBiasedNetworkIsTrainedFirstAndAlone) {
  MethodWithBatch made(glyph_classifier("x", kNetwork));
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
    made.parts.method->run(made.batch, first ? 1 : 2);
    EXPECT_EQ(values(biased).equal(biased_before), !first);
    EXPECT_EQ(values(evaluated).equal(evaluated_before), first);
  }
}

TEST(LearnedMixin, AfterPretrainingAnImageHasTheSamePredictionInEveryBatch) {
  MethodWithBatch made(glyph_classifier("x", kNetwork));
  made.parts.method->run(made.batch, 1);
  made.batch.epoch = 1;
  const Model& model = made.parts.model;
  const auto& biased = dynamic_cast<const SideClassifier&>(*model.side.at(0).module);
  const at::Tensor labels = integers({made.batch.labels.begin(), made.batch.labels.end()});
  at::Tensor expected;
  {
    const at::NoGradGuard no_grad;
    const ModelOutput output = forward(model, made.batch.images(), ForwardOptions{});
    biased.encoder()->train(false);
    const at::Tensor log_bias = biased.logits(biased.features(made.batch.images(), ForwardOptions{}));
    biased.encoder()->train(true);
    const at::Tensor factor = at::softplus(side_linear_of(made.parts.model, "mixin").forward(output.features.select(1, 0))).squeeze(1);
    expected = learned_mixin_losses(model.classifier->logits(output.features), log_bias, factor, labels, 0.36).mean();
  }
  EXPECT_NEAR(made.parts.method->run(made.batch, 2).loss, expected.item<double>(), 1e-5);
}

TEST(LearnedMixin, TheMixinStaysAsItWasDrawnWhereItIsNotTrained) {
  for (const bool trains : {true, false}) {
    MethodWithBatch made(glyph_classifier("x", fmt::format("{{name: learned_mixin, train_mixin: {}}}", trains)));
    const at::Tensor before = side_linear_of(made.parts.model, "mixin").weight.detach().clone();
    made.parts.method->run(made.batch, 1);
    EXPECT_EQ(side_linear_of(made.parts.model, "mixin").weight.detach().equal(before), !trains);
  }
}

TEST(LearnedMixin, EntropyKeepsThePredictorInTheEnsemble) {
  const auto factor = [](const char* entropy) {
    return trained(glyph_classifier("x", fmt::format("{{name: learned_mixin, entropy: {}}}", entropy)), 3).at("mixin_factor").get<double>();
  };
  EXPECT_GT(factor("2"), factor("0"));
}

TEST(LearnedMixin, ResumesByteForByte) {
  expect_resumes_mid_epoch(kLabels);
  expect_resumes_mid_epoch(kNetwork);
}

TEST(LearnedMixin, WhatItCannotUseIsRefusedInOneLine) {
  expect_refused(glyph_classifier("x", "{name: learned_mixin, bias: network, pretrain: 3}"),
                 "trains the biased network alone for 3 epochs, and train.epochs is 3");
  expect_refused(glyph_classifier("x", "{name: learned_mixin, bias_encoder: bagnet18}"), "write bias: network");
  expect_refused(glyph_classifier("x", "{name: learned_mixin, entropy: -1}"), "entropy");
  expect_refused(glyph_classifier("x", "{name: learned_mixin, pretrain: 2}"), "write bias: network");
  expect_refused(changed(glyph_classifier("x", "{name: learned_mixin, bias: network, pretrain: 1}"), {"encoder.freeze_epochs=1"}),
                 "trains another network in the first epochs");
}

}  // namespace learned_mixin_test
}  // namespace debias
