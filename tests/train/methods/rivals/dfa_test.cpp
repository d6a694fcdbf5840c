// Disentangled feature augmentation: its steps written out without and with swapped features, gradients, the evaluated network, resuming.
#include "debias/train/methods/rivals/dfa.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "debias/train/methods/rivals/classification.h"
#include "debias/train/methods/rivals/sample_visits.h"
#include "tests/support/finite_differences.h"
#include "tests/train/method_parts.h"
#include "tests/train/methods/rivals/biased_recipe.h"

namespace debias {
namespace dfa_test {

// The parts of the method, from its network's tensors by name: features of both encoders, and both classifiers' weights.
struct Parts {
  explicit Parts(const MethodWithBatch& made) {
    const at::Tensor both = forward(made.parts.model, made.batch.images(), ForwardOptions{}).features.select(1, 0);
    const int64_t D = both.size(1) / 2;
    intrinsic = both.slice(1, 0, D);
    bias = both.slice(1, D);
    labels = at::tensor(made.batch.labels, at::kLong);
    for (const auto& [name, tensor] : made.parts.model.named_parameters()) {
      if (name == "classifier.weight") label_weight = tensor;
      if (name == "classifier.bias") label_offset = tensor;
      if (name == "bias.classifier.weight") bias_weight = tensor;
      if (name == "bias.classifier.bias") bias_offset = tensor;
    }
  }
  at::Tensor label_logits(const at::Tensor& a, const at::Tensor& b) const {
    return at::linear(at::cat({a, b.detach()}, 1), label_weight, label_offset);
  }
  at::Tensor bias_logits(const at::Tensor& a, const at::Tensor& b) const {
    return at::linear(at::cat({a.detach(), b}, 1), bias_weight, bias_offset);
  }

  at::Tensor intrinsic, bias, labels, label_weight, label_offset, bias_weight, bias_offset;
};

at::Tensor first_weights(const at::Tensor& biased, const at::Tensor& debiased, const at::Tensor& labels) {
  at::Tensor b = biased.detach().clone(), d = debiased.detach().clone();
  for (int64_t c = 0; c < 10; ++c) {
    const at::Tensor of_class = labels.eq(c);
    if (!of_class.any().item<bool>()) continue;
    b = at::where(of_class, b / biased.detach().masked_select(of_class).max(), b);
    d = at::where(of_class, d / debiased.detach().masked_select(of_class).max(), d);
  }
  return b / (b + d + 1e-8);
}

Config unscaled(const std::string& method) {
  return changed(biased_config("x", method), {"classifier={name: linear, gradient: flow, normalize: false}"});
}

TEST(Dfa, AStepWithoutSwapsIsEquationTwo) {
  const char* method = "{name: dfa, bias_weight: 3, swap_after: 1}";
  MethodWithBatch made(unscaled(method)), other(unscaled(method));
  const Parts parts(other);
  const at::Tensor debiased = cross_entropy_by_sample(parts.label_logits(parts.intrinsic, parts.bias), parts.labels);
  const at::Tensor bias_logits = parts.bias_logits(parts.intrinsic, parts.bias);
  const at::Tensor weights = first_weights(cross_entropy_by_sample(bias_logits, parts.labels), debiased, parts.labels);
  const at::Tensor label_loss = (weights * debiased).mean();
  const at::Tensor bias_loss = 3 * generalized_cross_entropy_by_sample(bias_logits, parts.labels, 0.7).mean();
  const StepReport report = made.parts.method->run(made.batch, 1);
  EXPECT_NEAR(report.loss, label_loss.item<double>(), 1e-5);
  EXPECT_NEAR(report.diagnostics.metric_of_method("bias_loss")->sum, bias_loss.item<double>(), 1e-5);
  (label_loss + bias_loss).backward();
  const auto found = made.parts.model.named_parameters(), expected = other.parts.model.named_parameters();
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_TRUE(found[i].second.grad().defined()) << found[i].first;
    EXPECT_LT(largest_difference(found[i].second.grad(), expected[i].second.grad()), 1e-5) << found[i].first;
  }
}

// The loss of a step with swaps, under a permutation that the test does not know, lies among those of all permutations. Four images: 24.
TEST(Dfa, AStepWithSwapsIsEquationThreeOfSomePermutation) {
  Config root = changed(unscaled("{name: dfa, swap_weight: 0.5, bias_swap_weight: 2, swap_after: 0}"), {"train.batch_size=4"});
  MethodWithBatch made(root), other(root);
  const Parts parts(other);
  const at::Tensor debiased = cross_entropy_by_sample(parts.label_logits(parts.intrinsic, parts.bias), parts.labels);
  const at::Tensor bias_logits = parts.bias_logits(parts.intrinsic, parts.bias);
  const at::Tensor weights = first_weights(cross_entropy_by_sample(bias_logits, parts.labels), debiased, parts.labels);
  const StepReport report = made.parts.method->run(made.batch, 1);
  std::vector<int64_t> order = {0, 1, 2, 3};
  double closest = 1e9;
  do {
    const at::Tensor swap = at::tensor(order, at::kLong), bias = parts.bias.index_select(0, swap);
    const at::Tensor label_loss = (weights * debiased).mean() +
                                  0.5 * (weights * cross_entropy_by_sample(parts.label_logits(parts.intrinsic, bias), parts.labels)).mean();
    const at::Tensor bias_loss =
        generalized_cross_entropy_by_sample(bias_logits, parts.labels, 0.7).mean() +
        0.5 * 2 *
            generalized_cross_entropy_by_sample(parts.bias_logits(parts.intrinsic, bias), parts.labels.index_select(0, swap), 0.7).mean();
    closest = std::min(closest, std::abs(label_loss.item<double>() - report.loss) +
                                    std::abs(bias_loss.item<double>() - report.diagnostics.metric_of_method("bias_loss")->sum));
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_LT(closest, 1e-5);
}

TEST(Dfa, SwapsBeginAfterTheirShareOfTheSteps) {
  const auto loss_at = [](int64_t step, const char* method) {
    MethodWithBatch made(unscaled(method));
    return made.parts.method->run(made.batch, step).diagnostics.metric_of_method("bias_loss")->sum;
  };
  const double without = loss_at(1, "{name: dfa, swap_after: 1}");  // of 18 steps
  EXPECT_DOUBLE_EQ(loss_at(9, "{name: dfa, swap_after: 0.5}"), without);
  EXPECT_GT(loss_at(10, "{name: dfa, swap_after: 0.5}"), without + 1e-3);
  EXPECT_DOUBLE_EQ(loss_at(18, "{name: dfa, swap_after: 1}"), without);
}

TEST(Dfa, BothEncodersAndTheLabelClassifierAreEvaluated) {
  const TemporaryFolder folder;
  const TrainInput input = input_for(changed(biased_config(folder / "run", "dfa"), {"train.epochs=1"}));
  train(input);
  for (const char* name : {"encoder.intrinsic.conv1.weight", "encoder.bias.conv1.weight", "classifier.weight", "bias.classifier.weight",
                           "dfa.debiased_losses"}) {
    EXPECT_TRUE(checkpoint_has(folder / "run", name)) << name;
  }
  const Model model = make_model(input.recipe, 3, 10);
  EXPECT_TRUE(model.side.empty());
  EXPECT_EQ(model.encoder->feature_dim(), model.classifier->linear()->weight.size(1));
}

TEST(Dfa, TrainsOnABiasedSet) {
  const TemporaryFolder folder;
  train(input_for(shortcut_config(folder / "run", "dfa")));
  std::vector<double> losses, accuracies;
  for (const auto& line : metric_lines(folder / "run")) {
    if (line.contains("step")) continue;
    losses.push_back(line.at("bias_loss").get<double>());
    accuracies.push_back(line.at("acc1").get<double>());
  }
  ASSERT_EQ(losses.size(), 4u);
  EXPECT_GT(accuracies.back(), accuracies.front());
  EXPECT_LT(losses.back(), losses[1] * 0.9);  // both with swaps
}

TEST(Dfa, ResumesByteForByte) { expect_resumes(biased_config("x", "dfa")); }

TEST(Dfa, WhatItCannotUseIsRejectedInOneLine) {
  const auto with = [](const std::string& change) { return changed(biased_config("x", "dfa"), {change}); };
  expect_refused(with("method={name: dfa, swap_after: 2}"), "swap_after");
  expect_refused(with("encoder.layer_decay=0.5"), "leave encoder.layer_decay out");
  expect_refused(with("objective=supcon"), "takes no objective 'supcon'");
  expect_refused(changed(with("objective=supcon"), {"classifier=null"}), "trains a classifier, the recipe has none");
}

}  // namespace dfa_test
}  // namespace debias
