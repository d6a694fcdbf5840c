#include "debias/train/methods/optimizers.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <map>

#include "debias/core/error.h"
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

}  // namespace optimizers_test
}  // namespace debias
