// Weights of groups and of errors: group DRO and just train twice.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "debias/encoders/state.h"
#include "debias/train/methods/rivals/worst_groups.h"
#include "tests/support/embeddings.h"
#include "tests/support/finite_differences.h"
#include "tests/train/methods/rivals/classifiers.h"

namespace debias {
namespace groups_test {

// Group DRO: its weights by hand and against the loop of the released code, its first step, and that worse groups gain weight.

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
    const at::Tensor logits = made.logits();
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
    EXPECT_NEAR(made.run().loss, expected, 1e-5);
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
      last = made.run(step).diagnostics.metric_of_method("worst_group_loss")->sum;
    }
    return last;
  };
  EXPECT_LT(worst("1"), 0.8 * worst("1e-9"));
}

TEST(GroupDro, TellsTheWorstGroupOfAnEpoch) {
  const auto line = trained(glyph_classifier("x", kMethod), 1);
  EXPECT_GT(line.at("worst_group_loss").get<double>(), line.at("train_loss").get<double>());
  EXPECT_GT(line.at("largest_group_weight").get<double>(), 0.0);
  EXPECT_LT(line.at("largest_group_weight").get<double>(), 1.0);
}

// Just train twice: its weights, its two stages, the samples that it finds, and resuming in either stage.

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
    made.run(epoch + 1);
    EXPECT_TRUE(same(evaluated, copies_of(*model.encoder)));
    EXPECT_FALSE(same(identified, copies_of(identifier)));
    identified = copies_of(identifier);
    EXPECT_EQ(made.state().at("jtt.errors").gt(0).any().item<bool>(), epoch == 1);  // found in the last epoch of the stage
  }
  made.batch.epoch = 2;
  const auto report = made.run(3);
  EXPECT_TRUE(same(identified, copies_of(identifier)));
  EXPECT_FALSE(same(evaluated, copies_of(*model.encoder)));
  EXPECT_GT(report.diagnostics.metric_of_method("error_set_share")->sum, 0);
}

TEST(Jtt, ErrorsAreTheSamplesThatTheIdentificationNetworkGetsWrong) {
  MethodWithBatch made(biased_config("x", "jtt"));
  const at::Tensor wrong = made.side_logits().argmax(1).ne(made.labels());
  made.run();
  const at::Tensor errors = made.state().at("jtt.errors");
  EXPECT_EQ(errors.sum().item<double>(), wrong.sum().item<double>());
  for (size_t i = 0; i < made.batch.indices.size(); ++i) {
    EXPECT_EQ(errors[made.batch.indices[i]].item<double>() == 1, wrong[static_cast<int64_t>(i)].item<bool>()) << i;
  }
}

TEST(Jtt, TheSecondStageWeightsTheErrors) {
  MethodWithBatch made(biased_config("x", "{name: jtt, upweight: 4}"));
  made.run();
  const at::Tensor weights = jtt_weights(made.state().at("jtt.errors"), 4).index_select(0, at::tensor(made.batch.indices, at::kLong));
  const double expected = (weights * cross_entropy_by_sample(made.logits(), made.labels())).mean().item<double>();
  made.batch.epoch = 1;
  EXPECT_NEAR(made.run(2).loss, expected, 1e-5);
}

TEST(Jtt, FindsMoreOfTheSamplesThatConflictWithTheBias) {
  const TemporaryFolder folder;
  const TrainInput input = input_for(shortcut_config(folder / "run", "{name: jtt, identification_epochs: 2}"));
  train(input);
  const auto file = SafetensorsFile::open(folder / "run/checkpoints/last.safetensors");
  const at::Tensor errors = read_tensor(file, *file.find("jtt.errors"));
  double aligned = 0, conflicting = 0, of_aligned = 0, of_conflicting = 0;
  for (int64_t i = 0; i < input.dataset->size(); ++i) {
    const bool goes_with = input.dataset->label(i) == input.dataset->bias(i);
    (goes_with ? aligned : conflicting) += 1;
    (goes_with ? of_aligned : of_conflicting) += errors[i].item<double>();
  }
  EXPECT_GT(of_conflicting / conflicting, of_aligned / aligned + 0.3) << of_conflicting << " of " << conflicting << ", " << of_aligned;
}

}  // namespace groups_test
}  // namespace debias
