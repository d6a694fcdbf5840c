// Parts of a step: calls that wait for a device, diagnostics, optimizers, and the norms of a classifier.
#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string_view>

#include "debias/core/error.h"
#include "debias/data/dataset_registry.h"
#include "debias/train/loop/run_parts.h"
#include "debias/train/methods/diagnostics.h"
#include "debias/train/methods/model.h"
#include "debias/train/methods/optimizers.h"
#include "tests/support/finite_differences.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/waiting_operators.h"
#include "tests/train/small_recipe.h"
#include "tests/train/training.h"

namespace debias {
namespace step_parts_test {

// Calls of a training step that make the host wait for a device: each reads a number, or a size, out of a tensor.
//
// A device is not needed to count them. On one, terms over pairs go to the blocked engine.

std::map<std::string, int>* counted = nullptr;

std::unique_ptr<at::ObserverContext> count(const at::RecordFunction& call) {
  const std::string_view name = call.name();
  if (is_waited_for(name) || name == "debias::read_numbers") ++(*counted)[call.name()];
  return nullptr;
}

// What the second step of the recipe calls, all together, as on a device.
std::map<std::string, int> waits_of(const std::vector<std::string>& words) {
  Config root = small_config("");
  root.assign("optimizer={name: sgd, learning_rate: 0.01}");  // the CPU's kernel of Adam reads the step's number, a device's does not
  for (const auto& word : words) root.assign(word);
  const Recipe recipe = read_recipe(root);
  const std::shared_ptr<const Dataset> dataset = recipe.train_data.make_images();
  RunParts parts = make_run_parts(recipe, dataset);
  std::vector<Term> terms = make_terms(recipe, *dataset);
  for (auto& term : terms) term.load(*dataset, recipe.views.count, false, {});
  const auto method = method_of(recipe).make(
      recipe, *dataset,
      {.model = parts.model, .terms = std::move(terms), .optimizers = *parts.optimizers, .forward = {}, .pair_engine = Engine::kBlocked});
  parts.model.train(true);
  parts.source->start(0);
  method->run(*parts.source->next(), 1);
  std::map<std::string, int> calls;
  counted = &calls;
  const auto handle = at::addThreadLocalCallback(at::RecordFunctionCallback(count).scopes({at::RecordScope::FUNCTION}));
  method->run(*parts.source->next(), 2);
  at::removeCallback(handle);
  return calls;
}

// As docs/gpu.md has them: a step's numbers are read together, before the optimizer moves, and nothing else is read.
TEST(StepCalls, ReadNumbersOnceAndNothingElse) {
  const std::map<std::string, int> once = {{"debias::read_numbers", 1}};
  for (const char* objective : {"infonce", "debiased_negatives", "debiased_positives", "combined_debiased", "hard_negatives", "supcon",
                                "eps_supinfonce", "eps_supcon", "eps_infonce", "unbiased"}) {
    EXPECT_EQ(waits_of({fmt::format("objective={{name: {}}}", objective)}), once) << objective;
  }
  // The probe's Adam has two tensors.
  const std::map<std::string, int> with_probe = {{"aten::_local_scalar_dense", 2}, {"debias::read_numbers", 1}};
  EXPECT_EQ(waits_of({"classifier={name: linear}"}), with_probe);
  // Where a queue begins, and whether its keys hold different numbers of an anchor's sample.
  const std::map<std::string, int> with_queue = {{"aten::_local_scalar_dense", 1}, {"aten::_unique", 1}, {"debias::read_numbers", 1}};
  EXPECT_EQ(waits_of({"method=moco"}), with_queue);
}

Diagnostics one(double loss, int64_t clamped, std::optional<double> least, double size) {
  Diagnostics diagnostics;
  diagnostics.terms.push_back({1, loss, 10, clamped, 20, least, size > 0 ? 1 : 0, size});
  diagnostics.classifier = {8, 2, 1, 1.5};
  return diagnostics;
}

TEST(Diagnostics, IsSummedOverSteps) {
  Diagnostics sum;
  sum.add(one(2, 1, -0.5, 30));
  sum.add(one(4, 4, -0.25, 20));
  sum.add(one(6, 0, std::nullopt, 0));
  const Metrics expected = {
      {"clamped_share", 5.0 / 60}, {"min_estimate", -0.5}, {"effective_sample_size", 25}, {"acc1", 0.25}, {"classifier_loss", 1.5}};
  EXPECT_EQ(sum.metrics({"infonce"}), expected);
  EXPECT_EQ(Diagnostics::from_json(nlohmann::ordered_json::parse(sum.to_json().dump())).metrics({"infonce"}), expected);
}

TEST(Diagnostics, OfSeveralTermsCarriesTheirLabels) {
  Diagnostics both;
  both.terms = {{2, 3, 10, 0, 10, std::nullopt, 0, 0}, {2, 5, 10, 2, 2, 0.5, 0, 0}};
  const Metrics expected = {
      {"infonce.loss", 1.5}, {"infonce.clamped_share", 0}, {"end.loss", 2.5}, {"end.clamped_share", 1}, {"end.min_estimate", 0.5}};
  EXPECT_EQ(both.metrics({"infonce", "end"}), expected);
  EXPECT_EQ(Diagnostics::from_json(both.to_json()).metrics({"infonce", "end"}), expected);
}

TEST(Diagnostics, AMethodsOwnMetricsAreRatiosOfSums) {
  Diagnostics sum, step;
  step.of_method = {{"hit_share", 3, 4}, {"entropy", 0.5, 1}, {"rare", 0, 0}};
  sum.add(step);
  step.of_method = {{"hit_share", 1, 4}, {"entropy", 1.5, 1}};
  sum.add(step);
  const Metrics expected = {{"hit_share", 0.5}, {"entropy", 1.0}};  // nothing is known of what was never counted
  EXPECT_EQ(sum.metrics({}), expected);
  EXPECT_EQ(Diagnostics::from_json(nlohmann::ordered_json::parse(sum.to_json().dump())).metrics({}), expected);
  EXPECT_EQ(sum.metric_of_method("hit_share")->count, 8);
  EXPECT_EQ(sum.metric_of_method("other"), nullptr);
  auto damaged = sum.to_json();
  damaged["method"]["entropy"]["count"] = "two";
  EXPECT_THROW(Diagnostics::from_json(damaged), Error);
}

TEST(Diagnostics, OfOlderProgramsHasNoShareInTheEpochThatIsResumed) {
  auto json = one(2, 5, 0.5, 30).to_json();
  json["terms"][0].erase("clampable");
  Diagnostics resumed = Diagnostics::from_json(json);
  resumed.add(one(2, 15, 0.5, 30));
  EXPECT_EQ(resumed.metrics({"fairkl"})[0].second, 0.75);  // 15 of the 20 since
}

TEST(Diagnostics, OfNothingIsZeroOrAbsent) {
  Diagnostics empty;
  empty.terms.resize(1);
  EXPECT_EQ(empty.metrics({"infonce"}), (Metrics{{"clamped_share", 0}}));
}

// A vector of a network is a bias or a norm's; one of neither kind is of a layer that optimized_parameters does not know yet.
void expect_known_kinds(const torch::nn::Module& module, const std::string& name) {
  for (const auto& parameter : optimized_parameters(module)) {
    EXPECT_EQ(parameter.kind == ParameterKind::kWeight, parameter.tensor.dim() > 1) << name << ": " << parameter.name;
  }
}

TEST(Optimizers, KnowNormsAndBiasesOfEveryEncoderAndHead) {
  for (const auto& entry : encoder_registry()) {
    if (entry.needs_file) continue;
    const auto encoder = read_encoder(Config::map({{"name", Config::string(entry.name)}})).make(3, 1);
    expect_known_kinds(*encoder, entry.name);
  }
  for (const auto& entry : head_registry())
    expect_known_kinds(*read_head(Config::map({{"name", Config::string(entry.name)}})).make(16, 1), entry.name);
}

TEST(Optimizers, HaveTheNetworksParametersInItsOrder) {
  const Recipe recipe = read_recipe(changed(small_config("x"), {"classifier={name: linear, gradient: flow}"}));
  const Model model = make_model(recipe, 3, 2);
  const Optimizers optimizers = make_optimizers(recipe, model);
  const auto expected = model.named_parameters();
  const auto& parameters = optimizers.network->parameters();
  ASSERT_EQ(parameters.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(parameters[i].name, expected[i].first);
    EXPECT_TRUE(parameters[i].tensor.is_same(expected[i].second));
  }
}

TEST(Optimizers, HaveNoFrozenParametersAndTheEncodersOwnRate) {
  const Recipe recipe =
      read_recipe(changed(small_config("x"), {"encoder={name: resnet18, width: 8, freeze: layer2, learning_rate: 0.5, layer_decay: 0.1}",
                                              "classifier={name: linear, gradient: flow}", "optimizer={name: sgd, learning_rate: 1}"}));
  const Model model = make_model(recipe, 3, 2);
  const Optimizers optimizers = make_optimizers(recipe, model);
  for (const double rate : {1.0, 0.25}) {
    set_learning_rate(*optimizers.network, rate);
    std::map<const void*, double> rates;
    for (const auto& group : optimizers.network->rule().param_groups()) {
      for (const auto& tensor : group.params()) rates[tensor.unsafeGetTensorImpl()] = group.options().get_lr();
    }
    for (const auto& [name, tensor] : model.named_parameters()) {
      const auto found = rates.find(tensor.unsafeGetTensorImpl());
      const bool frozen = name.starts_with("encoder.") && !name.starts_with("encoder.layer3") && !name.starts_with("encoder.layer4");
      ASSERT_EQ(found == rates.end(), frozen) << name;
      if (frozen) continue;
      const double factor = name.starts_with("encoder.layer3") ? 0.005 : name.starts_with("encoder.layer4") ? 0.05 : 1;
      EXPECT_DOUBLE_EQ(found->second, rate * factor) << name;
    }
  }
}

TEST(Optimizers, NothingToTrainIsAMistake) {
  const Recipe recipe = read_recipe(changed(small_config("x"), {"encoder={name: resnet18, width: 8, freeze: all}", "head={name: none}"}));
  const Model model = make_model(recipe, 3);
  EXPECT_THROW(make_optimizers(recipe, model), Error);
}

TEST(Optimizers, EachResumesByteForByteWithGroupsScheduleAndClipping) {
  for (const char* options :
       {"name: sgd, nesterov: true", "name: adam", "name: adamw", "name: lars, trust_coefficient: 0.1", "name: lars, nesterov: true"}) {
    const TemporaryFolder folder;
    const std::string whole = folder.path() + "/whole", stopped = folder.path() + "/stopped";
    const auto config = [&](const std::string& path) {
      return changed(small_config(path), {std::string("optimizer={") + options +
                                          ", learning_rate: 0.05, weight_decay: 0.01, no_decay: [norm, bias], clip_norm: 1}"});
    };
    train(input_for(config(whole)));
    train_in_two(config(stopped), stopped, 8);
    expect_same_run(whole, stopped);
  }
}

// What a logit of the linear classifier is at most: |(W, b)| |(f, 1)|.

Classifier classifier(bool normalize) {
  return {ClassifierOptions{.gradient = ClassifierGradient::kFlow, .normalize = normalize}, 5, 3, 4};
}

TEST(ClassifierNorms, AreThoseOfTheWeightsWithTheirBiasAndOfTheFeaturesWithAOne) {
  at::manual_seed(1);
  const at::Tensor features = at::randn({4, 2, 5});  // [B, V, D]
  for (const bool normalize : {false, true}) {
    Classifier linear = classifier(normalize);
    const at::Tensor norms = linear.norms(features), logits = linear.logits(features);
    ASSERT_EQ(norms.sizes(), logits.sizes());
    for (int64_t row = 0; row < 8; ++row) {
      at::Tensor f = features[row % 4][row / 4];
      if (normalize) f = f / f.norm();
      for (int64_t c = 0; c < 3; ++c) {
        const at::Tensor weight = at::cat({linear.linear()->weight[c], linear.linear()->bias[c].view({1})});
        EXPECT_NEAR(norms[row][c].item<double>(), (weight.norm() * at::cat({f, at::ones({1})}).norm()).item<double>(), 1e-5);
        EXPECT_LE(logits[row][c].abs().item<double>(), norms[row][c].item<double>() * (1 + 1e-6));
      }
    }
  }
}

TEST(ClassifierNorms, AreReachedByAFeatureAlongTheWeights) {
  Classifier linear = classifier(false);
  const at::NoGradGuard no_grad;
  const at::Tensor along = (linear.linear()->weight[1] / linear.linear()->bias[1]).view({1, 1, 5});  // (f, 1) is W / b times a number
  EXPECT_NEAR((linear.logits(along).abs() / linear.norms(along))[0][1].item<double>(), 1, 1e-5);
}

TEST(ClassifierNorms, AreFiniteWithFiniteGradientsAtWeightsOfZero) {
  Classifier linear = classifier(false);
  {
    const at::NoGradGuard no_grad;
    linear.linear()->weight.zero_();
    linear.linear()->bias.zero_();
  }
  linear.norms(at::zeros({2, 1, 5})).sum().backward();
  EXPECT_TRUE(linear.linear()->weight.grad().isfinite().all().item<bool>());
}

}  // namespace step_parts_test
}  // namespace debias
