// Weights by relative difficulty: running losses, learning from failure, and disentangled feature augmentation.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "debias/train/methods/rivals/relative_difficulty.h"
#include "tests/support/finite_differences.h"
#include "tests/train/methods/rivals/classifiers.h"
#include "tests/train/sample_list.h"

namespace debias {
namespace relative_difficulty_test {

// Learning from failure: its first step written out, whose gradient goes where, what it gives weight to, and resuming.

// Cross-entropy of a row in double.
double loss_of_row(const at::Tensor& logits, int64_t label) {
  double total = 0;
  for (int64_t c = 0; c < logits.size(0); ++c) total += std::exp(logits[c].item<double>());
  return std::log(total) - logits[label].item<double>();
}

TEST(Lff, TheFirstStepIsAlgorithmOne) {
  MethodWithBatch made(biased_config("x", "{name: lff, q: 0.6}"));
  const at::Tensor of_biased = made.side_logits(), of_debiased = made.logits();
  const auto B = std::ssize(made.batch.ids);
  std::vector<double> biased, debiased, biased_max(10), debiased_max(10);
  double generalized = 0;
  for (int64_t i = 0; i < B; ++i) {
    const int64_t label = made.batch.labels[static_cast<size_t>(i)];
    biased.push_back(loss_of_row(of_biased[i], label));
    debiased.push_back(loss_of_row(of_debiased[i], label));
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
  const StepReport report = made.run();
  EXPECT_NEAR(report.loss, loss, 1e-5);
  EXPECT_NEAR(report.diagnostics.metric_of_method("bias_loss")->sum, generalized, 1e-5);
  EXPECT_NEAR(report.diagnostics.metric_of_method("relative_difficulty")->sum, weights, 1e-4);
  EXPECT_EQ(report.diagnostics.metric_of_method("relative_difficulty")->count, B);
}

TEST(Lff, EachNetworkLearnsFromItsOwnLoss) {
  MethodWithBatch made(biased_config("x", "lff")), other(biased_config("x", "lff"));
  made.run();
  const at::Tensor of_biased = other.side_logits(), labels = other.labels(), indices = at::tensor(other.batch.indices, at::kLong);
  generalized_cross_entropy_by_sample(of_biased, labels, 0.7).mean().backward();
  const at::Tensor losses = cross_entropy_by_sample(other.logits(), labels);
  RunningLosses biased("b", *other.input.dataset, 0, at::Device(at::kCPU)), debiased("d", *other.input.dataset, 0, at::Device(at::kCPU));
  const at::Tensor weights =
      relative_difficulty(biased.relative(indices, cross_entropy_by_sample(of_biased, labels)), debiased.relative(indices, losses));
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
      return made.run().loss;
    };
    return loss("[cross_entropy, {name: fairkl, mode: mean, 'on': encoder}]") - loss("cross_entropy");
  };
  const double expected = regulariser("simclr");
  EXPECT_GT(expected, 1e-3);
  EXPECT_NEAR(regulariser("lff"), expected, 1e-5);
}

// Disentangled feature augmentation: its steps written out without and with swapped features, gradients, the evaluated network, resuming.

// The parts of the method, from its network's tensors by name: features of both encoders, and both classifiers' weights.
struct Parts {
  explicit Parts(const MethodWithBatch& made) {
    const at::Tensor both = made.features();
    const int64_t D = both.size(1) / 2;
    intrinsic = both.slice(1, 0, D);
    bias = both.slice(1, D);
    labels = made.labels();
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

  at::Tensor debiased() const { return cross_entropy_by_sample(label_logits(intrinsic, bias), labels); }
  // Of the first step.
  at::Tensor weights() const {
    const at::Tensor biased_losses = cross_entropy_by_sample(bias_logits(intrinsic, bias), labels).detach(), losses = debiased().detach();
    at::Tensor b = biased_losses.clone(), d = losses.clone();
    for (int64_t c = 0; c < 10; ++c) {
      const at::Tensor of_class = labels.eq(c);
      if (!of_class.any().item<bool>()) continue;
      b = at::where(of_class, b / biased_losses.masked_select(of_class).max(), b);
      d = at::where(of_class, d / losses.masked_select(of_class).max(), d);
    }
    return b / (b + d + 1e-8);
  }

  at::Tensor intrinsic, bias, labels, label_weight, label_offset, bias_weight, bias_offset;
};

Config unscaled(const std::string& method) {
  return changed(biased_config("x", method), {"classifier={name: linear, gradient: flow, normalize: false}"});
}

TEST(Dfa, AStepWithoutSwapsIsEquationTwo) {
  const char* method = "{name: dfa, bias_weight: 3, swap_after: 1}";
  MethodWithBatch made(unscaled(method)), other(unscaled(method));
  const Parts parts(other);
  const at::Tensor debiased = parts.debiased(), bias_logits = parts.bias_logits(parts.intrinsic, parts.bias), weights = parts.weights();
  const at::Tensor label_loss = (weights * debiased).mean();
  const at::Tensor bias_loss = 3 * generalized_cross_entropy_by_sample(bias_logits, parts.labels, 0.7).mean();
  const StepReport report = made.run();
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
  const at::Tensor debiased = parts.debiased(), bias_logits = parts.bias_logits(parts.intrinsic, parts.bias), weights = parts.weights();
  const StepReport report = made.run();
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
    return made.run(step).diagnostics.metric_of_method("bias_loss")->sum;
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

// Running losses of samples and the weights that follow from them.

RunningLosses running(const SampleTable& samples, double momentum) { return {"x", samples, momentum, at::Device(at::kCPU)}; }

TEST(MeanOfSample, JoinsTheVisitsOfASampleInABatch) {
  const at::Tensor found = mean_of_sample(at::tensor({7, 2, 7, 5}, at::kLong), at::tensor({1.0, 4.0, 2.0, 8.0}, at::kDouble));
  EXPECT_TRUE(found.equal(at::tensor({1.5, 4.0, 1.5, 8.0}, at::kDouble)));
}

TEST(RunningLosses, ByHand) {
  const SampleList samples = sample_list({{{0, 0}, 2}, {{1, 0}, 2}});  // samples 0, 1 of class 0 and 2, 3 of class 1
  RunningLosses losses = running(samples, 0.75);
  const at::Tensor first = losses.relative(at::tensor({0, 1, 2}, at::kLong), at::tensor({1.0, 4.0, 2.0}, at::kDouble));
  EXPECT_TRUE(at::allclose(first, at::tensor({0.25f, 1.0f, 1.0f})));  // over 4, 4 and 2
  EXPECT_TRUE(losses.losses().eq(-1).all().item<bool>());             // nothing is kept before the step is done
  losses.commit();
  EXPECT_TRUE(losses.losses().equal(at::tensor({1.0f, 4.0f, 2.0f, -1.0f})));
  const at::Tensor second = losses.relative(at::tensor({1, 3}, at::kLong), at::tensor({0.0, 8.0}, at::kDouble));
  EXPECT_TRUE(at::allclose(second, at::tensor({1.0f, 1.0f})));  // 3 of class 0, where 1 is less; the first visit of 3
  losses.commit();
  EXPECT_TRUE(losses.losses().equal(at::tensor({1.0f, 3.0f, 2.0f, 8.0f})));
}

TEST(RunningLosses, AreThoseOfANaiveLoop) {
  const SampleList samples = sample_list({{{0, 0}, 7}, {{1, 0}, 5}, {{2, 0}, 9}});
  const double momentum = 0.7;
  RunningLosses losses = running(samples, momentum);
  std::map<int64_t, double> kept;
  for (int64_t step = 0; step < 12; ++step) {
    std::vector<int64_t> indices;
    std::vector<double> values;
    for (int64_t i = 0; i < 8; ++i) {
      indices.push_back((step * 5 + i * 3 + i * i) % samples.size());
      values.push_back(1 + std::sin(static_cast<double>(step * 8 + i)));
    }
    std::map<int64_t, std::vector<double>> visits;
    for (size_t i = 0; i < indices.size(); ++i) visits[indices[i]].push_back(values[i]);
    for (const auto& [index, of_sample] : visits) {
      double mean = 0;
      for (const double value : of_sample) mean += value / static_cast<double>(of_sample.size());
      kept[index] = kept.contains(index) ? momentum * kept[index] + (1 - momentum) * mean : mean;
    }
    std::map<int64_t, double> largest;
    for (const auto& [index, value] : kept) {
      const int64_t label = samples.label(index);
      largest[label] = std::max(largest[label], value);
    }
    const at::Tensor found = losses.relative(at::tensor(indices, at::kLong), at::tensor(values, at::kDouble));
    losses.commit();
    for (size_t i = 0; i < indices.size(); ++i) {
      EXPECT_NEAR(found[static_cast<int64_t>(i)].item<double>(), kept[indices[i]] / largest[samples.label(indices[i])], 1e-6)
          << "step " << step << " row " << i;
    }
  }
}

TEST(RunningLosses, OfAClassWithoutLossAreZero) {
  const SampleList samples = sample_list({{{0, 0}, 2}, {{1, 0}, 1}});
  RunningLosses losses = running(samples, 0.5);
  EXPECT_TRUE(losses.relative(at::tensor({0, 1}, at::kLong), at::zeros({2})).eq(0).all().item<bool>());
}

TEST(RelativeDifficulty, IsNearOneWhereTheBiasedNetworkAloneFails) {
  const at::Tensor found =
      relative_difficulty(at::tensor({0.9, 0.1, 0.5, 0.0}, at::kDouble), at::tensor({0.1, 0.9, 0.5, 0.0}, at::kDouble));
  EXPECT_LT(largest_difference(found, at::tensor({0.9, 0.1, 0.5, 0.0}, at::kDouble)), 1e-7);
}

}  // namespace relative_difficulty_test
}  // namespace debias
