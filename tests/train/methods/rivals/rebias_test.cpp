// ReBias: its first step written out, updates in turn, kernels of the data's own size, and that features become independent.
#include "debias/train/methods/rivals/rebias.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/utils/convert_parameters.h>

#include <cmath>

#include "debias/train/methods/rivals/classification.h"
#include "debias/train/methods/rivals/hsic.h"
#include "tests/support/finite_differences.h"
#include "tests/train/methods/rivals/glyph_classifier.h"

namespace debias {
namespace rebias_test {

constexpr const char* kMethod = "{name: rebias, radius: 1, bias_encoder: {name: simple_convnet, kernel: 1}}";
constexpr const char* kOwnRadius = "{name: rebias, bias_encoder: {name: simple_convnet, kernel: 1}}";

const SideClassifier& biased(const MethodWithBatch& made) {
  return dynamic_cast<const SideClassifier&>(*made.parts.model.side.at(0).module);
}

at::Tensor values(const torch::nn::Module& module) { return torch::nn::utils::parameters_to_vector(module.parameters()).detach().clone(); }

at::Tensor labels(const MethodWithBatch& made) { return at::tensor(made.batch.labels, at::kLong); }

TEST(Rebias, TheFirstLossIsCrossEntropyWithHsic) {
  MethodWithBatch made(glyph_classifier("x", "{name: rebias, weight: 30, radius: 2, bias_encoder: {name: simple_convnet, kernel: 1}}"));
  at::Tensor expected, dependence;
  {
    const at::NoGradGuard no_grad;
    const ModelOutput output = forward(made.parts.model, made.batch.images(), ForwardOptions{});
    const at::Tensor of_bias = biased(made).features(made.batch.images(), ForwardOptions{}).select(1, 0);
    dependence = unbiased_hsic(output.features.select(1, 0), of_bias, 2, 2);
    expected = cross_entropy_by_sample(made.parts.model.classifier->logits(output.features), labels(made)).mean() + 30 * dependence;
  }
  EXPECT_NEAR(made.parts.method->run(made.batch, 1).loss, expected.item<double>(), 1e-5);
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
  const auto config = [] {
    Config root =
        changed(glyph_classifier("x", "{name: rebias, bias_weight: 2, radius: 1, bias_encoder: {name: simple_convnet, kernel: 1}}"),
                {"optimizer={name: sgd, learning_rate: 0.1, momentum: 0}"});
    return root;
  };
  MethodWithBatch made(config()), alone(config());
  const at::Tensor before = values(biased(made));
  made.parts.method->run(made.batch, 1);
  const at::Tensor features = forward(made.parts.model, made.batch.images(), ForwardOptions{}).features.detach().select(1, 0);
  const at::Tensor rows = biased(alone).features(made.batch.images(), ForwardOptions{});
  (cross_entropy_by_sample(biased(alone).logits(rows), labels(made)).mean() - 2 * unbiased_hsic(features, rows.select(1, 0), 1, 1))
      .backward();
  std::vector<at::Tensor> gradients;
  for (const auto& parameter : biased(alone).parameters()) gradients.push_back(parameter.grad().flatten());
  EXPECT_LT(largest_difference(values(biased(made)), before - 0.1 * at::cat(gradients)), 1e-5);
  EXPECT_GT(largest_difference(values(biased(made)), before), 1e-4);
}

TEST(Rebias, TheClassifierIsMovedByHsicAndTheBiasedNetworkByItsOwnWeight) {
  const auto after = [](const char* weights) {
    MethodWithBatch made(
        glyph_classifier("x", fmt::format("{{name: rebias, {}, radius: 1, bias_encoder: {{name: simple_convnet, kernel: 1}}}}", weights)));
    made.parts.method->run(made.batch, 1);
    return std::pair(values(*made.parts.model.encoder), values(biased(made)));
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
  double of_classifier = 0, of_bias = 0;
  {
    const at::NoGradGuard no_grad;
    of_classifier = median_distance(forward(made.parts.model, made.batch.images(), ForwardOptions{}).features.select(1, 0));
    of_bias = median_distance(biased(made).features(made.batch.images(), ForwardOptions{}).select(1, 0));
  }
  made.parts.method->run(made.batch, 1);
  const at::Tensor radii = made.state().at("rebias.radii");
  EXPECT_NEAR(radii[0].item<double>(), of_classifier, 1e-5 * of_classifier);
  EXPECT_NEAR(radii[1].item<double>(), of_bias, 1e-5 * of_bias);
  made.batch.number = 1;
  made.parts.method->run(made.batch, 2);
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

TEST(Rebias, ResumesByteForByte) {
  expect_resumes_mid_epoch(kMethod);
  expect_resumes_mid_epoch(kOwnRadius);
}

TEST(Rebias, WhatItCannotUseIsRefusedInOneLine) {
  expect_refused(glyph_classifier("x", "rebias"), "write bias_encoder: bagnet18");
  expect_refused(glyph_classifier("x", "{name: rebias, radius: 0, bias_encoder: bagnet18}"), "radius");
  expect_refused(changed(glyph_classifier("x", kMethod), {"train.batch_size=3"}), "at least 4 images");
}

}  // namespace rebias_test
}  // namespace debias
