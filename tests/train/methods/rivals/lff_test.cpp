// Learning from failure: its first step written out, whose gradient goes where, what it gives weight to, and resuming.
#include "debias/train/methods/rivals/lff.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "debias/train/methods/rivals/classification.h"
#include "debias/train/methods/rivals/sample_visits.h"
#include "tests/support/finite_differences.h"
#include "tests/train/method_parts.h"
#include "tests/train/methods/rivals/biased_recipe.h"

namespace debias {
namespace lff_test {

const SideClassifier& bias_of(const MethodWithBatch& made) {
  return dynamic_cast<const SideClassifier&>(*made.parts.model.side.front().module);
}

struct BothLogits {
  at::Tensor debiased, biased;
};

BothLogits logits_of(const MethodWithBatch& made) {
  const SideClassifier& network = bias_of(made);
  return {made.parts.model.classifier->logits(forward(made.parts.model, made.batch.images(), ForwardOptions{}).features),
          network.logits(network.features(made.batch.images(), ForwardOptions{}))};
}

// Cross-entropy of a row in double.
double loss_of_row(const at::Tensor& logits, int64_t label) {
  double total = 0;
  for (int64_t c = 0; c < logits.size(0); ++c) total += std::exp(logits[c].item<double>());
  return std::log(total) - logits[label].item<double>();
}

TEST(Lff, TheFirstStepIsAlgorithmOne) {
  MethodWithBatch made(biased_config("x", "{name: lff, q: 0.6}"));
  const BothLogits logits = logits_of(made);
  const auto B = std::ssize(made.batch.ids);
  std::vector<double> biased, debiased, biased_max(10), debiased_max(10);
  double generalized = 0;
  for (int64_t i = 0; i < B; ++i) {
    const int64_t label = made.batch.labels[static_cast<size_t>(i)];
    biased.push_back(loss_of_row(logits.biased[i], label));
    debiased.push_back(loss_of_row(logits.debiased[i], label));
    auto &b = biased_max[static_cast<size_t>(label)], &d = debiased_max[static_cast<size_t>(label)];
    b = std::max(b, biased.back());
    d = std::max(d, debiased.back());
    generalized += 0.6 * std::exp(-0.6 * biased.back()) * biased.back() / static_cast<double>(B);
  }
  double loss = 0, weights = 0;
  for (size_t i = 0; i < biased.size(); ++i) {
    const auto label = static_cast<size_t>(made.batch.labels[i]);
    const double b = biased[i] / biased_max[label], d = debiased[i] / debiased_max[label], w = b / (b + d + 1e-8);
    loss += w * debiased[i] / static_cast<double>(B);
    weights += w;
  }
  const StepReport report = made.parts.method->run(made.batch, 1);
  EXPECT_NEAR(report.loss, loss, 1e-5);
  EXPECT_NEAR(report.diagnostics.metric_of_method("bias_loss")->sum, generalized, 1e-5);
  EXPECT_NEAR(report.diagnostics.metric_of_method("relative_difficulty")->sum, weights, 1e-4);
  EXPECT_EQ(report.diagnostics.metric_of_method("relative_difficulty")->count, B);
}

TEST(Lff, EachNetworkLearnsFromItsOwnLoss) {
  MethodWithBatch made(biased_config("x", "lff")), other(biased_config("x", "lff"));
  made.parts.method->run(made.batch, 1);
  const BothLogits logits = logits_of(other);
  const at::Tensor labels = at::tensor(other.batch.labels, at::kLong), indices = at::tensor(other.batch.indices, at::kLong);
  generalized_cross_entropy_by_sample(logits.biased, labels, 0.7).mean().backward();
  const at::Tensor losses = cross_entropy_by_sample(logits.debiased, labels);
  RunningLosses biased("b", *other.input.dataset, 0, at::Device(at::kCPU)), debiased("d", *other.input.dataset, 0, at::Device(at::kCPU));
  const at::Tensor weights =
      relative_difficulty(biased.relative(indices, cross_entropy_by_sample(logits.biased, labels)), debiased.relative(indices, losses));
  (weights * losses).mean().backward();
  const auto found = made.parts.model.named_parameters(), expected = other.parts.model.named_parameters();
  ASSERT_EQ(found.size(), expected.size());
  double largest = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_TRUE(found[i].second.grad().defined() && expected[i].second.grad().defined()) << found[i].first;
    EXPECT_LT(largest_difference(found[i].second.grad(), expected[i].second.grad()), 1e-5) << found[i].first;
    largest = std::max(largest, expected[i].second.grad().abs().max().item<double>());
  }
  EXPECT_GT(largest, 1e-3);
}

// Of all samples, by the running losses of a checkpoint: the mean weight of those with another colour than their class, and of the others.
std::pair<double, double> weights_by_colour(const std::string& run, const SampleTable& samples) {
  const auto file = SafetensorsFile::open(run + "/checkpoints/last.safetensors");
  std::vector<RunningLosses> both;
  for (const char* name : {"lff.biased_losses", "lff.debiased_losses"}) {
    both.emplace_back(name, samples, 0.7, at::Device(at::kCPU));
    both.back().load(file);
  }
  const at::Tensor all = at::arange(samples.size());
  const at::Tensor weights = relative_difficulty(both[0].relative(all, both[0].losses()), both[1].relative(all, both[1].losses()));
  double aligned = 0, conflicting = 0, of_aligned = 0, of_conflicting = 0;
  for (int64_t i = 0; i < samples.size(); ++i) {
    const double weight = weights[i].item<double>();
    const bool goes_with = samples.label(i) == samples.bias(i);
    (goes_with ? aligned : conflicting) += 1;
    (goes_with ? of_aligned : of_conflicting) += weight;
  }
  return {of_conflicting / conflicting, of_aligned / aligned};
}

TEST(Lff, SamplesThatConflictWithTheBiasWeighMore) {
  const TemporaryFolder folder;
  const TrainInput input = input_for(shortcut_config(folder / "run", "lff"));
  train(input);
  const auto [conflicting, aligned] = weights_by_colour(folder / "run", *input.dataset);
  EXPECT_GT(conflicting, aligned + 0.1) << conflicting << " " << aligned;
}

TEST(Lff, ResumesByteForByte) { expect_resumes(biased_config("x", "lff")); }

TEST(Lff, ABiasEncoderOfItsOwnIsTrainedAndResolved) {
  const TemporaryFolder folder;
  train(input_for(changed(biased_config(folder / "run", "{name: lff, bias_encoder: {name: simple_convnet, kernel: 1, stem_stride: 2}}"),
                          {"train.epochs=1"})));
  EXPECT_TRUE(checkpoint_has(folder / "run", "bias.encoder.conv1.weight"));
  EXPECT_TRUE(checkpoint_has(folder / "run", "bias.classifier.weight"));
  EXPECT_TRUE(checkpoint_has(folder / "run", "lff.biased_losses"));
  const Config resolved = read_yaml_file(folder / "run/config.yaml");
  const Config* encoder = resolved.find("method")->find("bias_encoder");
  ASSERT_NE(encoder, nullptr);
  EXPECT_EQ(encoder->find("stride")->text(), "1");
  EXPECT_EQ(resolved.find("method")->find("q")->text(), "0.7");
  const auto lines = metric_lines(folder / "run");
  EXPECT_GT(lines.back().at("relative_difficulty").get<double>(), 0);
  EXPECT_TRUE(lines.back().contains("bias_acc1"));
}

TEST(Lff, RegularisersReadTheEvaluatedNetwork) {
  const auto regulariser = [](const char* method) {  // of the same first weights and batch
    const auto loss = [&](const char* objective) {
      MethodWithBatch made(changed(shortcut_config("x", method), {std::string("objective=") + objective}));
      return made.parts.method->run(made.batch, 1).loss;
    };
    return loss("[cross_entropy, {name: fairkl, mode: mean, 'on': encoder}]") - loss("cross_entropy");
  };
  const double expected = regulariser("simclr");
  EXPECT_GT(expected, 1e-3);
  EXPECT_NEAR(regulariser("lff"), expected, 1e-5);
}

TEST(Lff, WhatItCannotUseIsRejectedInOneLine) {
  const auto with = [](const std::string& change) { return changed(biased_config("x", "lff"), {change}); };
  expect_refused(changed(with("objective={name: fairkl, mode: mean, 'on': encoder}"), {"classifier=linear"}),
                 "the recipe's has gradient: stop; write classifier: {name: linear, gradient: flow}");
  expect_refused(with("objective=generalized_cross_entropy"), "takes no objective 'generalized_cross_entropy'");
  expect_refused(with("objective=[cross_entropy, cross_entropy]"), "found it 2 times");
  expect_refused(with("objective=[{name: fairkl, mode: mean, 'on': encoder}]"), "found it 0 times");
  expect_refused(with("views.count=2"), "works on 1 view, views.count is 2");
  expect_refused(with("train.micro_batch=8"), "takes no train.micro_batch");
  expect_refused(with("method={name: lff, q: 0}"), "q");
  expect_refused(with("method={name: lff, momentum: 1}"), "momentum");
  expect_refused(with("method={name: lff, bias_encoder: resnet19}"), "unknown encoder 'resnet19'");
  expect_refused(with("method={name: lff, bias_encoder: {name: resnet18, widht: 8}}"), "unknown option 'widht'");
  expect_refused(with("method={name: lff, bias_encoder: {name: resnet18, mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5]}}"),
                 "leave its mean and std out");
  expect_refused(with("method={name: lff, bias_encoder: vit_small}"),
                 "bias encoder 'vit_small': the views have 16x16 pixels and it takes 224x224");
}

}  // namespace lff_test
}  // namespace debias
