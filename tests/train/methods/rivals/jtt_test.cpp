// Just train twice: its weights, its two stages, the samples that it finds, and resuming in either stage.
#include "debias/train/methods/rivals/jtt.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "debias/encoders/state.h"
#include "debias/train/methods/rivals/classification.h"
#include "tests/support/finite_differences.h"
#include "tests/train/method_parts.h"
#include "tests/train/methods/rivals/biased_recipe.h"

namespace debias {
namespace jtt_test {

std::vector<at::Tensor> copies_of(const torch::nn::Module& module) {
  std::vector<at::Tensor> all;
  for (const auto& parameter : module.parameters()) all.push_back(parameter.detach().clone());
  return all;
}

bool same(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) { return x.equal(y); });
}

TEST(Jtt, WeightsByHand) {
  // Two of five are errors, three times as heavy: Z = (2 * 3 + 3) / 5.
  const at::Tensor found = jtt_weights(at::tensor({1.0, 0.0, 0.0, 1.0, 0.0}, at::kDouble), 3);
  EXPECT_LT(largest_difference(found, at::tensor({3.0, 1.0, 1.0, 3.0, 1.0}, at::kDouble) / 1.8), 1e-12);
  EXPECT_TRUE(jtt_weights(at::zeros({4}), 50).eq(1).all().item<bool>());
}

TEST(Jtt, ItsWeightedGradientIsThatOfCopiedSamples) {
  const at::Tensor logits = at::sin(at::arange(1, 13, at::kDouble)).view({4, 3}), labels = at::tensor({0, 1, 2, 1}, at::kLong);
  const at::Tensor errors = at::tensor({0.0, 1.0, 0.0, 0.0}, at::kDouble), copied = at::tensor({0, 1, 1, 1, 2, 3}, at::kLong);
  const at::Tensor leaf = logits.clone().requires_grad_(true);
  mean_by_sample(cross_entropy_by_sample(leaf, labels), jtt_weights(errors, 3)).value.backward();
  const at::Tensor expected = numeric_gradient(
      [&](const at::Tensor& z) { return at::cross_entropy_loss(z.index_select(0, copied), labels.index_select(0, copied)).item<double>(); },
      logits);
  EXPECT_LT(largest_difference(leaf.grad(), expected), 1e-9);
}

TEST(Jtt, EachStageTrainsItsNetworkAlone) {
  MethodWithBatch made(biased_config("x", "{name: jtt, identification_epochs: 2}"));
  const Model& model = made.parts.model;
  const torch::nn::Module& identifier = *model.side.front().module;
  auto evaluated = copies_of(*model.encoder), identified = copies_of(identifier);
  for (const int64_t epoch : {0, 1}) {
    made.batch.epoch = epoch;
    made.parts.method->run(made.batch, epoch + 1);
    EXPECT_TRUE(same(evaluated, copies_of(*model.encoder)));
    EXPECT_FALSE(same(identified, copies_of(identifier)));
    identified = copies_of(identifier);
    EXPECT_EQ(made.state().at("jtt.errors").gt(0).any().item<bool>(), epoch == 1);  // found in the last epoch of the stage
  }
  made.batch.epoch = 2;
  const auto report = made.parts.method->run(made.batch, 3);
  EXPECT_TRUE(same(identified, copies_of(identifier)));
  EXPECT_FALSE(same(evaluated, copies_of(*model.encoder)));
  EXPECT_GT(report.diagnostics.metric_of_method("error_set_share")->sum, 0);
}

TEST(Jtt, ErrorsAreTheSamplesThatTheIdentificationNetworkGetsWrong) {
  MethodWithBatch made(biased_config("x", "jtt"));
  const auto& network = dynamic_cast<const SideClassifier&>(*made.parts.model.side.front().module);
  const at::Tensor wrong =
      network.logits(network.features(made.batch.images(), ForwardOptions{})).argmax(1).ne(at::tensor(made.batch.labels, at::kLong));
  made.parts.method->run(made.batch, 1);
  const at::Tensor errors = made.state().at("jtt.errors");
  EXPECT_EQ(errors.sum().item<double>(), wrong.sum().item<double>());
  for (size_t i = 0; i < made.batch.indices.size(); ++i) {
    EXPECT_EQ(errors[made.batch.indices[i]].item<double>() == 1, wrong[static_cast<int64_t>(i)].item<bool>()) << i;
  }
}

TEST(Jtt, TheSecondStageWeightsTheErrors) {
  MethodWithBatch made(biased_config("x", "{name: jtt, upweight: 4}"));
  made.parts.method->run(made.batch, 1);
  const at::Tensor weights = jtt_weights(made.state().at("jtt.errors"), 4).index_select(0, at::tensor(made.batch.indices, at::kLong));
  double expected = 0;
  {
    const at::NoGradGuard no_grad;
    const at::Tensor logits =
        made.parts.model.classifier->logits(forward(made.parts.model, made.batch.images(), ForwardOptions{}).features);
    expected = (weights * cross_entropy_by_sample(logits, at::tensor(made.batch.labels, at::kLong))).mean().item<double>();
  }
  made.batch.epoch = 1;
  EXPECT_NEAR(made.parts.method->run(made.batch, 2).loss, expected, 1e-5);
}

TEST(Jtt, FindsMoreOfTheSamplesThatConflictWithTheBias) {
  const TemporaryFolder folder;
  const TrainInput input = input_for(shortcut_config(folder / "run", "{name: jtt, identification_epochs: 2}"));
  train(input);
  at::Tensor errors;
  const auto file = SafetensorsFile::open(folder / "run/checkpoints/last.safetensors");
  for (const auto& entry : file.tensors()) {
    if (entry.name == "jtt.errors") errors = read_tensor(file, entry);
  }
  double aligned = 0, conflicting = 0, of_aligned = 0, of_conflicting = 0;
  for (int64_t i = 0; i < input.dataset->size(); ++i) {
    const bool goes_with = input.dataset->label(i) == input.dataset->bias(i);
    (goes_with ? aligned : conflicting) += 1;
    (goes_with ? of_aligned : of_conflicting) += errors[i].item<double>();
  }
  EXPECT_GT(of_conflicting / conflicting, of_aligned / aligned + 0.3) << of_conflicting << " of " << conflicting << ", " << of_aligned;
}

TEST(Jtt, ResumesByteForByteInEitherStage) { expect_resumes(biased_config("x", "{name: jtt, identification_epochs: 1}")); }

TEST(Jtt, WhatItCannotUseIsRejectedInOneLine) {
  const auto with = [](const std::string& change) { return changed(biased_config("x", "jtt"), {change}); };
  expect_refused(with("method={name: jtt, identification_epochs: 3}"), "identification_epochs 3 leaves none of the 3 epochs");
  expect_refused(with("method={name: jtt, upweight: 0.5}"), "upweight");
  expect_refused(with("objective=[cross_entropy, {name: fairkl, mode: mean, 'on': encoder}]"), "takes no objective 'fairkl'");
  expect_refused(with("views.count=2"), "method 'jtt' works on 1 view");
}

}  // namespace jtt_test
}  // namespace debias
