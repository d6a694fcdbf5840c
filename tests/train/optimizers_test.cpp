#include "debias/train/optimizers.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "tests/train/small_recipe.h"
#include "tests/train/training.h"

namespace debias {
namespace optimizers_test {

// A vector of a network is a bias or a norm's; one of neither kind is of a layer that optimized_parameters does not know yet.
void expect_known_kinds(const torch::nn::Module& module, const std::string& name) {
  for (const auto& parameter : optimized_parameters(module)) {
    EXPECT_EQ(parameter.kind == ParameterKind::kWeight, parameter.tensor.dim() > 1) << name << ": " << parameter.name;
  }
}

TEST(Optimizers, KnowNormsAndBiasesOfEveryEncoderAndHead) {
  for (const auto& entry : encoder_registry()) {
    const auto encoder = make_encoder(Config::map({{"name", Config::string(entry.name)}}), 3, 1);
    expect_known_kinds(*encoder, entry.name);
  }
  for (const auto& entry : head_registry())
    expect_known_kinds(*make_head(Config::map({{"name", Config::string(entry.name)}}), 16, 1), entry.name);
}

TEST(Optimizers, HaveTheNetworksParametersInItsOrder) {
  Config root = small_config("x");
  root.assign("classifier={name: linear, gradient: flow}");
  const Recipe recipe = read_recipe(root);
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

TEST(Optimizers, EachResumesByteForByteWithGroupsScheduleAndClipping) {
  for (const char* options :
       {"name: sgd, nesterov: true", "name: adam", "name: adamw", "name: lars, trust_coefficient: 0.1", "name: lars, nesterov: true"}) {
    const TemporaryFolder folder;
    const std::string whole = folder.path() + "/whole", stopped = folder.path() + "/stopped";
    const auto config = [&](const std::string& path) {
      Config root = small_config(path);
      root.assign(std::string("optimizer={") + options +
                  ", learning_rate: 0.05, weight_decay: 0.01, no_decay: [norm, bias], clip_norm: 1}");
      return root;
    };
    train(input_for(config(whole)));
    train_in_two(config(stopped), stopped, 8);
    expect_same_run(whole, stopped);
  }
}

}  // namespace optimizers_test
}  // namespace debias
