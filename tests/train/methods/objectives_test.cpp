// Every registered objective trains, and leaves its diagnostics.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "debias/core/npy.h"
#include "debias/losses/objective.h"
#include "debias/train/loop/run_parts.h"
#include "debias/train/methods/model.h"
#include "debias/train/methods/simclr.h"
#include "tests/support/registry_names.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/small_recipe.h"
#include "tests/train/training.h"

namespace debias {
namespace objectives_test {

class EveryObjective : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryObjective, TrainsAndLeavesItsDiagnostics) {
  const TemporaryFolder folder;
  const ObjectiveEntry* entry = &find_entry(objective_registry(), GetParam(), "objective");
  Config root =
      changed(small_config(folder.path() + "/run"),
              {"train.epochs=1", "objective={name: " + entry->name +
                                     (entry->needs_bias_features ? ", bias_features: " + write_bias_features(folder) : "") + "}"});
  if (entry->kind == InputKind::kLogits) root.assign("classifier={name: linear, gradient: flow}");
  train(input_for(root));

  const auto lines = metric_lines(folder.path() + "/run");
  ASSERT_EQ(lines.size(), 4u);
  for (const auto& line : lines) {
    const auto& loss = line.at(line.contains("step") ? "loss" : "train_loss");
    ASSERT_TRUE(loss.is_number()) << line;  // a non-finite number is written as null
    EXPECT_LT(std::abs(loss.get<double>()), 1e3) << line;
    EXPECT_GT(line.at("grad_norm").get<double>(), 0) << line;
    EXPECT_TRUE(line.at("clamped_share").is_number()) << line;
    const bool weighted = entry->name == "hard_negatives" || entry->name == "bayesian";
    EXPECT_EQ(line.contains("effective_sample_size"), weighted) << line;
    if (weighted) {
      EXPECT_GT(line.at("effective_sample_size").get<double>(), 1);
    }
    EXPECT_EQ(line.contains("acc1"), entry->kind == InputKind::kLogits) << line;
    if (line.contains("step")) {
      EXPECT_GT(line.at("anchors").get<int64_t>(), 0) << line;
    }
  }
  const Recipe recipe = read_recipe(root);
  const auto trained = tensors_of(folder.path() + "/run/checkpoints/last.safetensors");
  for (const auto& [name, tensor] : make_model(recipe, 3, 10).named_parameters()) {
    const std::string initial(static_cast<const char*>(tensor.data_ptr()), tensor.nbytes());
    const auto found =
        std::find_if(trained.begin(), trained.end(), [&name = name](const auto& tensor_of) { return tensor_of.first == name; });
    ASSERT_NE(found, trained.end()) << name;
    const bool reached = entry->kind != InputKind::kLogits || !name.starts_with("head.");
    EXPECT_EQ(found->second != initial, reached) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryObjective, testing::ValuesIn(names_of(objective_registry())),
                         [](const auto& test) { return test.param; });

// Two terms, one with features of the bias, values on schedules, a probe: all that a checkpoint has to bring back.
Config two_terms(const TemporaryFolder& folder, const std::string& classifier) {
  return changed(
      small_config(folder.path() + "/whole"),
      {"objective=[{name: hard_negatives, beta: {schedule: linear, from: 2, to: 0.1}}, {name: fairkl, 'on': encoder, mode: mean, weight: "
       "{schedule: steps, values: {0: 0.5, 2: 0.25}}, bias_features: " +
           write_bias_features(folder) + "}]",
       "classifier=" + classifier, "train.log_every=1"});
}

TEST(Terms, StoppedAndResumedWithClassifierAndSchedulesGivesTheSameBytes) {
  for (const char* classifier : {"linear", "{name: linear, gradient: flow}"}) {
    const TemporaryFolder folder;
    expect_resumes(folder, two_terms(folder, classifier), {4, 6, 9});  // 6 steps an epoch
    std::set<std::string> names;
    for (const auto& [name, bytes] : tensors_of(folder.path() + "/whole/checkpoints/last.safetensors")) names.insert(name);
    EXPECT_TRUE(names.contains("classifier.weight") && names.contains("classifier.bias"));
    EXPECT_EQ(names.contains("classifier_optimizer.0.exp_avg"), std::string(classifier) == "linear");
  }
}

TEST(Terms, ValuesInForceAndDiagnosticsAreLoggedByLabel) {
  const TemporaryFolder folder;
  train(input_for(two_terms(folder, "linear")));
  const std::vector<double> beta = {2, 1.05, 0.1}, weight = {0.5, 0.5, 0.25};
  size_t epochs = 0;
  for (const auto& line : metric_lines(folder.path() + "/whole")) {
    const size_t epoch = line.at("epoch").get<size_t>() - 1;
    EXPECT_NEAR(line.at("hard_negatives.beta").get<double>(), beta[epoch], 1e-12) << line;
    EXPECT_EQ(line.at("fairkl.weight").get<double>(), weight[epoch]) << line;
    for (const char* name : {"hard_negatives.clamped_share", "hard_negatives.min_estimate", "hard_negatives.effective_sample_size",
                             "fairkl.clamped_share", "acc1", "classifier_loss"}) {
      EXPECT_TRUE(line.contains(name)) << name << line;
    }
    EXPECT_FALSE(line.contains("clamped_share") || line.contains("min_estimate")) << line;
    const double sum = line.at("hard_negatives.loss").get<double>() + weight[epoch] * line.at("fairkl.loss").get<double>();
    EXPECT_NEAR(line.at(line.contains("step") ? "loss" : "train_loss").get<double>(), sum, 1e-5) << line;
    epochs += !line.contains("step");
  }
  EXPECT_EQ(epochs, 3u);
}

TEST(Terms, AProbeChangesNothingOfTheRun) {
  const TemporaryFolder folder;
  for (const bool probe : {false, true}) {
    Config root = changed(small_config(folder.path() + (probe ? "/with" : "/without")), {"train.epochs=1"});
    if (probe) root.assign("classifier=linear");
    train(input_for(root));
  }
  const auto with = metric_lines(folder.path() + "/with"), without = metric_lines(folder.path() + "/without");
  ASSERT_EQ(with.size(), without.size());
  for (size_t i = 0; i < with.size(); ++i) {
    for (const auto& [key, value] : without[i].items()) EXPECT_EQ(with[i].at(key), value) << key;
    EXPECT_TRUE(with[i].contains("acc1") && with[i].contains("classifier_loss"));
  }
}

TEST(Terms, ThePriorIsTheTrainingSets) {
  const TrainInput input = input_for(changed(
      small_config("unused"), {"data.train.correlation=0.9", "objective=bias_balanced", "classifier={name: linear, gradient: flow}"}));
  const auto loss = [&](bool loaded) {
    auto terms = make_terms(input.recipe, *input.dataset);
    if (loaded) terms[0].load(*input.dataset, 2);
    EXPECT_EQ(terms[0].prior().defined(), loaded);
    const Model model = make_model(input.recipe, 3, 10);
    const Optimizers optimizers = make_optimizers(input.recipe, model);
    RunParts parts = make_run_parts(input.recipe, input.dataset);
    const auto method = make_simclr({.model = model, .terms = std::move(terms), .optimizers = optimizers, .forward = ForwardOptions{}});
    parts.source->start(0);
    return method->run(*parts.source->next(), 1).loss;
  };
  const double batch = loss(false), whole = loss(true);
  EXPECT_GT(std::abs(batch - whole), 0.01);
  RunParts parts = make_run_parts(input.recipe, input.dataset);
  parts.source->start(0);
  EXPECT_NEAR(parts.method->run(*parts.source->next(), 1).loss, whole, 1e-6);
}

}  // namespace objectives_test
}  // namespace debias
