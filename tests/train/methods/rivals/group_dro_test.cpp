// Group DRO: its weights by hand and against the loop of the released code, its first step, and that worse groups gain weight.
#include "debias/train/methods/rivals/group_dro.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/embeddings.h"
#include "tests/train/methods/rivals/glyph_classifier.h"

namespace debias {
namespace group_dro_test {

constexpr const char* kMethod = "{name: group_dro, step_size: 0.5}";

TEST(GroupDro, WeightsAreThoseWorkedByHand) {
  // Losses 1 and 3 in the first group, 0.5 in the third, none in the second; eta = ln 2, so that weights are multiplied by 2^loss.
  const GroupMeans means = group_means(at::tensor({1.0, 3.0, 0.5}, at::kDouble), integers({0, 0, 2}), 3);
  EXPECT_TRUE(means.loss.equal(at::tensor({2.0, 0.0, 0.5}, at::kDouble)));
  EXPECT_TRUE(means.count.equal(at::tensor({2.0, 0.0, 1.0}, at::kDouble)));
  const at::Tensor weights = updated_group_weights(at::tensor({0.25, 0.5, 0.25}, at::kDouble), means.loss, std::log(2));
  const double sum = 1 + 0.5 + 0.25 * std::sqrt(2);  // 0.25 * 4, 0.5 * 1, 0.25 * sqrt 2
  EXPECT_NEAR(weights[0].item<double>(), 1 / sum, 1e-15);
  EXPECT_NEAR(weights[1].item<double>(), 0.5 / sum, 1e-15);
  EXPECT_NEAR(weights[2].item<double>(), 0.25 * std::sqrt(2) / sum, 1e-15);
}

TEST(GroupDro, WeightsOfZeroStayAndLargeLossesDoNotOverflow) {
  const at::Tensor weights = updated_group_weights(at::tensor({0.0, 0.5, 0.5}, at::kDouble), at::tensor({1e6, 1e6, 1e6}, at::kDouble), 10);
  EXPECT_TRUE(weights.equal(at::tensor({0.0, 0.5, 0.5}, at::kDouble)));
}

TEST(GroupDro, TheFirstStepIsTheReleasedLoop) {
  for (const double adjustment : {0.0, 2.0}) {
    MethodWithBatch made(glyph_classifier("x", fmt::format("{{name: group_dro, step_size: 0.5, adjustment: {}}}", adjustment)));
    const SampleTable& samples = *made.input.dataset;
    at::Tensor logits;
    {
      const at::NoGradGuard no_grad;
      logits = made.parts.model.classifier->logits(forward(made.parts.model, made.batch.images(), ForwardOptions{}).features);
    }
    const auto biases = static_cast<int64_t>(samples.info().bias_names.size());
    std::vector<double> n(4 * biases), count(n.size()), loss(n.size()), q(n.size());
    for (int64_t i = 0; i < samples.size(); ++i) ++n[samples.label(i) * biases + samples.bias(i)];
    for (size_t i = 0; i < made.batch.labels.size(); ++i) {
      const int64_t label = made.batch.labels[i], group = label * biases + made.batch.biases[i];
      ++count[group];
      loss[group] += -at::log_softmax(logits[static_cast<int64_t>(i)].to(at::kDouble), 0)[label].item<double>();
    }
    double groups = 0, sum = 0, expected = 0;
    for (const double samples_of : n) groups += samples_of > 0;
    for (size_t g = 0; g < n.size(); ++g) {
      loss[g] /= std::max(count[g], 1.0);
      q[g] = n[g] > 0 ? std::exp(0.5 * (loss[g] + adjustment / std::sqrt(n[g]))) / groups : 0;
      sum += q[g];
    }
    for (size_t g = 0; g < n.size(); ++g) expected += q[g] / sum * loss[g];
    EXPECT_NEAR(made.parts.method->run(made.batch, 1).loss, expected, 1e-5);
    const at::Tensor weights = made.state().at("group_dro.weights");
    for (size_t g = 0; g < n.size(); ++g) EXPECT_NEAR(weights[static_cast<int64_t>(g)].item<double>(), q[g] / sum, 1e-6) << g;
  }
}

// Trained on one batch again and again; with a tiny step size groups keep equal weights.
TEST(GroupDro, TheWorstGroupIsLearntSoonerThanWithEqualWeights) {
  const auto worst = [](const char* step_size) {
    MethodWithBatch made(changed(glyph_classifier("x", fmt::format("{{name: group_dro, step_size: {}}}", step_size)),
                                 {"optimizer={name: sgd, learning_rate: 0.05}"}));
    double last = 0;
    for (int64_t step = 1; step <= 40; ++step) {
      last = made.parts.method->run(made.batch, step).diagnostics.metric_of_method("worst_group_loss")->sum;
    }
    return last;
  };
  EXPECT_LT(worst("1"), 0.8 * worst("1e-9"));
}

TEST(GroupDro, ResumesByteForByte) { expect_resumes_mid_epoch(kMethod); }

TEST(GroupDro, TellsTheWorstGroupOfAnEpoch) {
  const auto line = trained(glyph_classifier("x", kMethod), 1);
  EXPECT_GT(line.at("worst_group_loss").get<double>(), line.at("train_loss").get<double>());
  EXPECT_GT(line.at("largest_group_weight").get<double>(), 0.0);
  EXPECT_LT(line.at("largest_group_weight").get<double>(), 1.0);
}

TEST(GroupDro, WhatItCannotUseIsRefusedInOneLine) {
  expect_refused(glyph_classifier("x", "{name: group_dro, step_size: 0}"), "step_size");
  expect_refused(glyph_classifier("x", "{name: group_dro, stepsize: 1}"), "did you mean 'step_size'");
  expect_refused(changed(glyph_classifier("x", kMethod), {"objective=supcon"}), "takes no objective 'supcon'");
}

}  // namespace group_dro_test
}  // namespace debias
