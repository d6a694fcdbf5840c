// What the methods of supervised classification share: losses by sample, and a classifier beside the evaluated one.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "debias/encoders/state.h"
#include "debias/losses/logits.h"
#include "tests/data/fixture_files.h"
#include "tests/support/finite_differences.h"
#include "tests/train/methods/rivals/classifiers.h"

namespace debias {
namespace classification_test {

at::Tensor some_logits(int64_t rows, int64_t classes) {
  return at::sin(at::arange(1, rows * classes + 1, at::kDouble) * 1.7).view({rows, classes}) * 3;
}

TEST(ClassificationLosses, OfTwoClassesByHand) {
  const at::Tensor logits = at::tensor({0.0, std::log(3.0), std::log(4.0), 0.0}, at::kDouble).view({2, 2});
  const at::Tensor labels = at::tensor({1, 1}, at::kLong);  // p = 3/4 and 1/5
  const at::Tensor plain = cross_entropy_by_sample(logits, labels);
  EXPECT_NEAR(plain[0].item<double>(), std::log(4.0 / 3), 1e-12);
  EXPECT_NEAR(plain[1].item<double>(), std::log(5.0), 1e-12);
  const at::Tensor generalized = generalized_cross_entropy_by_sample(logits, labels, 0.5);
  EXPECT_NEAR(generalized[0].item<double>(), 0.5 * std::sqrt(0.75) * std::log(4.0 / 3), 1e-12);
  EXPECT_NEAR(generalized[1].item<double>(), 0.5 * std::sqrt(0.2) * std::log(5.0), 1e-12);
}

TEST(ClassificationLosses, TheirMeansAreTheObjectives) {
  const at::Tensor logits = some_logits(7, 4), labels = at::tensor({0, 3, 2, 1, 1, 0, 2}, at::kLong);
  EXPECT_NEAR(mean_by_sample(cross_entropy_by_sample(logits, labels)).value.item<double>(),
              at::cross_entropy_loss(logits, labels).item<double>(), 1e-12);
  const auto form = GeneralizedCrossEntropyOptions{.q = 0.7, .form = GceForm::kLff};
  EXPECT_NEAR(mean_by_sample(generalized_cross_entropy_by_sample(logits, labels, 0.7)).value.item<double>(),
              generalized_cross_entropy(logits, labels, form).value.item<double>(), 1e-12);
}

TEST(ClassificationLosses, TheGradientOfTheGeneralizedOneIsThatOfItsClosedForm) {
  const double q = 0.7;
  const at::Tensor logits = some_logits(5, 3), labels = at::tensor({0, 2, 1, 1, 0}, at::kLong);
  const at::Tensor leaf = logits.clone().requires_grad_(true);
  generalized_cross_entropy_by_sample(leaf, labels, q).mean().backward();
  const at::Tensor expected = numeric_gradient(
      [&](const at::Tensor& z) {
        double sum = 0;
        for (int64_t i = 0; i < 5; ++i) {
          double total = 0;
          for (int64_t c = 0; c < 3; ++c) total += std::exp(z[i][c].item<double>());
          sum += 1 - std::pow(std::exp(z[i][labels[i].item<int64_t>()].item<double>()) / total, q);
        }
        return sum / 5;  // q times (1 - p^q) / q
      },
      logits);
  EXPECT_LT(largest_difference(leaf.grad(), expected), 1e-9);
}

TEST(ClassificationLosses, WeightsMultiplyEachLoss) {
  const at::Tensor losses = at::tensor({1.0, 2.0, 5.0}, at::kDouble), weights = at::tensor({0.5, 0.0, 3.0}, at::kDouble);
  EXPECT_NEAR(mean_by_sample(losses, weights).value.item<double>(), 15.5 / 3, 1e-12);
  EXPECT_EQ(mean_by_sample(losses).anchors, 3);
}

TEST(SideClassifier, BeginsWithWeightsOfItsOwn) {
  const Recipe recipe = read_recipe(biased_config("x", "simclr"));
  const auto weights = [&](const std::string& name, uint64_t seed) {
    Recipe seeded = recipe;
    seeded.seed = seed;
    return named_state(SideClassifier(seeded, seeded.encoder, name, 3, 5)).front().second.clone();
  };
  const at::Tensor bias = weights("bias", 3);
  EXPECT_TRUE(bias.equal(weights("bias", 3)));
  EXPECT_FALSE(bias.equal(weights("bias", 4)));
  EXPECT_FALSE(bias.equal(weights("other", 3)));
  EXPECT_FALSE(bias.equal(make_model(recipe, 3, 5).encoder->parameters().front()));
}

TEST(SideClassifier, NamesItsTensorsAndClassifiesEveryView) {
  const Recipe recipe = read_recipe(biased_config("x", "simclr"));
  const SideClassifier network(recipe, recipe.encoder, "bias", 3, 5);
  bool has_encoder = false, has_classifier = false;
  for (const auto& [name, tensor] : named_state(network)) {
    has_encoder |= name == "encoder.conv1.weight";
    has_classifier |= name == "classifier.weight";
  }
  EXPECT_TRUE(has_encoder && has_classifier);
  const at::Tensor features = network.features(at::ones({2, 4, 3, 16, 16}), ForwardOptions{});
  EXPECT_EQ(features.sizes(), at::IntArrayRef({4, 2, network.encoder()->feature_dim()}));
  EXPECT_EQ(network.logits(features).sizes(), at::IntArrayRef({8, 5}));
}

// What methods that read bias labels say where there are none.

Config without_bias_labels(const TemporaryFolder& folder, const std::string& method) {
  fixture::write_mnist(folder / "mnist", 60, 30);
  return changed(glyph_classifier("x", method),
                 {"data.train={name: mnist, root: " + folder / "mnist" + "}", "views={steps: [], count: 1}"});
}

TEST(BiasLabels, AreAskedForInOneLineThatNamesMethodsWithoutThem) {
  for (const char* method : {"group_dro", "rubi", "learned_mixin", "lnl"}) {
    const TemporaryFolder folder;
    expect_refused(without_bias_labels(folder, method),
                   fmt::format("method '{}' needs bias labels, data set 'mnist' has none; use lff, jtt, dfa, rebias or hex", method));
  }
}

TEST(BiasLabels, AreNotNeededBesideABiasedNetwork) {
  for (const char* method : {"{name: rubi, bias: network}", "{name: learned_mixin, bias: network, pretrain: 1}",
                             "{name: rebias, bias_encoder: {name: simple_convnet, kernel: 1}}"}) {
    const TemporaryFolder folder;
    EXPECT_GT(MethodWithBatch(without_bias_labels(folder, method)).run().loss, 0) << method;
  }
}

// Stopped in either half of their steps, or in either stage: 18 steps of the first, 12 of the others.
TEST(ClassifyingMethods, ResumeByteForByte) {
  for (const char* method : {"lff", "dfa", "hex", "{name: jtt, identification_epochs: 1}"})
    expect_resumes(biased_config("x", method), {4, 13});
  for (const char* method :
       {"{name: group_dro, step_size: 0.5}", "{name: lnl, entropy_weight: 0.5, hidden: 6}", "{name: rubi, branch_weight: 0.5}",
        "{name: rubi, bias: network, bias_encoder: {name: simple_convnet, kernel: 1}}", "{name: learned_mixin, entropy: 0.3}",
        "{name: learned_mixin, bias: network, pretrain: 1, bias_encoder: {name: simple_convnet, kernel: 1}}",
        "{name: rebias, radius: 1, bias_encoder: {name: simple_convnet, kernel: 1}}",
        "{name: rebias, bias_encoder: {name: simple_convnet, kernel: 1}}"}) {
    SCOPED_TRACE(method);
    expect_resumes(changed(glyph_classifier("x", method), {"train.epochs=2"}), {8});
  }
}

struct Refusal {
  const char *method, *change, *part;  // of the refusal
};

TEST(ClassifyingMethods, RefuseInOneLineWhatTheyCannotUse) {
  const std::vector<Refusal> of_biased = {
      {"lff", "objective=generalized_cross_entropy", "takes no objective 'generalized_cross_entropy'"},
      {"lff", "objective=[cross_entropy, cross_entropy]", "found it 2 times"},
      {"lff", "objective=[{name: fairkl, mode: mean, 'on': encoder}]", "found it 0 times"},
      {"lff", "views.count=2", "works on 1 view, views.count is 2"},
      {"lff", "train.micro_batch=8", "takes no train.micro_batch"},
      {"{name: lff, q: 0}", "", "q"},
      {"{name: lff, momentum: 1}", "", "momentum"},
      {"{name: lff, bias_encoder: resnet19}", "", "unknown encoder 'resnet19'"},
      {"{name: lff, bias_encoder: {name: resnet18, widht: 8}}", "", "unknown option 'widht'"},
      {"{name: lff, bias_encoder: {name: resnet18, mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5]}}", "", "leave its mean and std out"},
      {"{name: lff, bias_encoder: vit_small}", "", "bias encoder 'vit_small': the views have 16x16 pixels and it takes 224x224"},
      {"{name: dfa, swap_after: 2}", "", "swap_after"},
      {"dfa", "encoder.layer_decay=0.5", "leave encoder.layer_decay out"},
      {"dfa", "objective=supcon", "takes no objective 'supcon'"},
      {"hex", "train.batch_size=8", "projects 10 directions out of each batch"},
      {"hex", "train.drop_last=false", "drop_last: true"},
      {"{name: hex, column: 0}", "", "compare a pixel with itself"},
      {"{name: hex, texture_side: 2, column: 3}", "", "lower the offset"},
      {"{name: jtt, identification_epochs: 3}", "", "identification_epochs 3 leaves none of the 3 epochs"},
      {"{name: jtt, upweight: 0.5}", "", "upweight"},
      {"jtt", "objective=[cross_entropy, {name: fairkl, mode: mean, 'on': encoder}]", "takes no objective 'fairkl'"},
      {"jtt", "views.count=2", "method 'jtt' works on 1 view"}};
  const std::vector<Refusal> of_glyphs = {
      {"{name: group_dro, step_size: 0}", "", "step_size"},
      {"{name: group_dro, stepsize: 1}", "", "did you mean 'step_size'"},
      {"group_dro", "objective=supcon", "takes no objective 'supcon'"},
      {"{name: lnl, hidden: -1}", "", "hidden"},
      {"{name: lnl, reversal: -1}", "", "reversal"},
      {"{name: rubi, bias_encoder: bagnet18}", "", "write bias: network"},
      {"{name: rubi, bias: pixels}", "", "bias"},
      {"{name: rubi, bias: network, bias_encoder: bag18}", "", "bag18"},
      {"{name: rubi, bias: network, bias_encoder: vit_small}", "", "end the views' steps with that size"},
      {"{name: learned_mixin, bias: network, pretrain: 3}", "", "trains the biased network alone for 3 epochs, and train.epochs is 3"},
      {"{name: learned_mixin, bias_encoder: bagnet18}", "", "write bias: network"},
      {"{name: learned_mixin, entropy: -1}", "", "entropy"},
      {"{name: learned_mixin, pretrain: 2}", "", "write bias: network"},
      {"{name: learned_mixin, bias: network, pretrain: 1}", "encoder.freeze_epochs=1", "trains another network in the first epochs"},
      {"{name: jtt, identification_epochs: 1}", "encoder.freeze_epochs=1", "method 'jtt' trains another network in the first epochs"},
      {"{name: lff, bias_encoder: {name: resnet18, freeze_epochs: 2}}", "", "only to the evaluated encoder"},
      {"rebias", "", "write bias_encoder: bagnet18"},
      {"{name: rebias, bias_encoder: vit_small}", "", "end the views' steps with that size"},
      {"{name: rebias, radius: 0, bias_encoder: bagnet18}", "", "radius"},
      {"{name: rebias, bias_encoder: {name: simple_convnet, kernel: 1}}", "train.batch_size=3", "at least 4 images"}};
  const auto expect_all = [](const std::vector<Refusal>& refusals, const auto& recipe) {
    for (const auto& [method, change, part] : refusals) {
      const Config root = recipe("x", method);
      expect_refused(*change == 0 ? root : changed(root, {change}), part);
    }
  };
  expect_all(of_biased, biased_config);
  expect_all(of_glyphs, glyph_classifier);
  expect_refused(changed(biased_config("x", "lff"), {"objective={name: fairkl, mode: mean, 'on': encoder}", "classifier=linear"}),
                 "the recipe's has gradient: stop; write classifier: {name: linear, gradient: flow}");
  expect_refused(changed(biased_config("x", "dfa"), {"objective=supcon", "classifier=null"}), "trains a classifier, the recipe has none");
}

}  // namespace classification_test
}  // namespace debias
