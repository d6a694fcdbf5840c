#include "debias/encoders/backbone_options.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <map>

#include "debias/core/error.h"
#include "debias/encoders/encoder.h"
#include "debias/encoders/state.h"
#include "tests/encoders/one_thread.h"
#include "tests/support/refusals.h"

namespace debias {
namespace freezing_test {

std::shared_ptr<Encoder> encoder(const std::string& yaml) { return read_encoder(parse_yaml(yaml, "r.yaml")).make(3, 1); }

std::map<std::string, at::Tensor> copied_state(const Encoder& encoder) {
  std::map<std::string, at::Tensor> copies;
  for (const auto& [name, tensor] : named_state(encoder)) copies[name] = tensor.detach().clone();
  return copies;
}

// Names whose tensors change, or get a gradient, in a step of training mode.
std::map<std::string, bool> trained_names(Encoder& encoder, int64_t side) {
  encoder.train();
  const auto before = copied_state(encoder);
  const at::Tensor images = at::sin(at::arange(4 * 3 * side * side, at::kFloat) * 0.7).reshape({4, 3, side, side});
  const at::Tensor loss = encoder.forward(images).square().sum();
  if (loss.requires_grad()) loss.backward();
  std::map<std::string, bool> trained;
  for (const auto& [name, tensor] : named_state(encoder)) trained[name] = !at::equal(before.at(name), tensor) || tensor.grad().defined();
  return trained;
}

void expect_trained_from(const std::string& yaml, int64_t side, const std::function<bool(const std::string&)>& trains) {
  const OneThread one_thread;
  const auto frozen = encoder(yaml);
  for (const auto& [name, changed] : trained_names(*frozen, side)) EXPECT_EQ(changed, trains(name)) << yaml << ": " << name;
}

TEST(Freezing, FrozenStagesKeepWeightsAndRunningStatistics) {
  const auto after_layer2 = [](const std::string& name) { return name.starts_with("layer3") || name.starts_with("layer4"); };
  expect_trained_from("{name: resnet18, width: 8, freeze: 3}", 16, after_layer2);
  expect_trained_from("{name: resnet18, width: 8, freeze: layer2}", 16, after_layer2);
  expect_trained_from("{name: resnet18, width: 8, freeze: none}", 16, [](const std::string&) { return true; });
  expect_trained_from("{name: mobilenet_v2, freeze: features.17}", 32,
                      [](const std::string& name) { return name.starts_with("features.18"); });
  expect_trained_from("{name: efficientnet_lite0, freeze: 8}", 32,
                      [](const std::string& name) { return name.starts_with("conv_head") || name.starts_with("bn2"); });
  expect_trained_from("{name: vit_small, size: 16, freeze: blocks.10}", 16,
                      [](const std::string& name) { return name.starts_with("blocks.11") || name.starts_with("norm"); });
}

TEST(Freezing, OfAllNothingTrainsOrNeedsAGraph) {
  const auto frozen = encoder("{name: simple_convnet, freeze: all}");
  const auto before = copied_state(*frozen);
  frozen->train();
  EXPECT_FALSE(frozen->is_training());
  EXPECT_FALSE(frozen->forward(at::ones({2, 3, 28, 28})).requires_grad());
  for (const auto& [name, tensor] : named_state(*frozen)) EXPECT_TRUE(at::equal(before.at(name), tensor)) << name;
}

TEST(Freezing, HoldingAnEncoderEndsAsItBegan) {
  const OneThread one_thread;
  const auto made = encoder("{name: resnet18, width: 8, freeze: layer2}");
  made->hold(true);
  for (const auto& [name, trained] : trained_names(*made, 16)) EXPECT_FALSE(trained) << name;
  EXPECT_FALSE(made->is_training());
  made->hold(true);  // once more
  made->hold(false);
  EXPECT_TRUE(made->is_training());  // as train() asked meanwhile
  for (const auto& [name, trained] : trained_names(*made, 16)) {
    EXPECT_EQ(trained, name.starts_with("layer3") || name.starts_with("layer4")) << name;
  }
  made->train(false);
  made->hold(true);
  made->hold(false);
  EXPECT_FALSE(made->is_training());
}

TEST(Freezing, EveryStageOfEveryEncoderHoldsWhatNoOtherDoes) {
  for (const auto& entry : encoder_registry()) {
    if (entry.reads_words || entry.needs_file) continue;
    const auto made = encoder("{name: " + entry.name + "}");
    const auto stages = made->stages();
    if (stages.empty()) continue;
    for (const auto& item : named_state(*made)) {
      int holders = 0;
      for (const auto& stage : stages) holders += stage.holds(item.first) ? 1 : 0;
      EXPECT_EQ(holders, 1) << entry.name << ": " << item.first;
    }
  }
}

TEST(Freezing, MistakesAreNamed) {
  const auto message = [](const std::string& yaml) { return usage_error_of([&] { encoder(yaml); }); };
  EXPECT_EQ(message("{name: resnet18, width: 8, freeze: 6}"),
            "r.yaml:1: encoder 'resnet18': freeze: 6 stages, but it has 5 (stem, layer1, layer2, layer3, layer4)");
  EXPECT_EQ(message("{name: resnet18, width: 8, freeze: layr2}"),
            "r.yaml:1: encoder 'resnet18': freeze: unknown stage 'layr2'; did you mean 'layer2'?");
  EXPECT_EQ(message("{name: simple_convnet, freeze: 1}"),
            "r.yaml:1: encoder 'simple_convnet': freeze: this encoder has no stages; give none or all");
  EXPECT_EQ(message("{name: resnet18, width: 8, freeze: 0}"),
            "r.yaml:1: encoder 'resnet18': freeze: 0 is out of range; give a value in [1, 1000]");
}

TEST(RateFactors, FallFromStageToStage) {
  const auto made = encoder("{name: resnet18, width: 8}");
  const std::vector<std::string> names = {"conv1.weight", "bn1.bias", "layer1.0.conv1.weight", "layer4.1.bn2.weight"};
  EXPECT_EQ(rate_factors(*made, names, 0.5, 1), (std::vector<double>{0.5, 0.5, 0.5, 0.5}));
  const std::vector<double> found = rate_factors(*made, names, 0.5, 0.5), expected = {0.5 / 32, 0.5 / 32, 0.5 / 16, 0.5 / 2};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_DOUBLE_EQ(found[i], expected[i]) << names[i];
  EXPECT_EQ(usage_error_of([] { rate_factors(*encoder("simple_convnet"), {}, 1, 0.5); }),
            "encoder 'simple_convnet': layer_decay: this encoder has no stages; leave it out");
}

TEST(InputNormalisation, BelongsToTheWeights) {
  const auto of = [](const std::string& yaml) { return read_encoder(parse_yaml(yaml, "r.yaml")).normalisation(); };
  EXPECT_FALSE(of("resnet18").has_value());
  EXPECT_FALSE(of("gru").has_value());
  EXPECT_FALSE(of("{name: resnet18, weights: a.safetensors}").has_value());  // of a run of one's own
  EXPECT_EQ(of("{name: resnet18, stem: imagenet, weights: a.safetensors}")->mean, (std::vector<double>{0.485, 0.456, 0.406}));
  EXPECT_EQ(of("{name: vit_small, weights: a.safetensors}")->std, (std::vector<double>{0.5, 0.5, 0.5}));
  const auto own = of("{name: vit_small, weights: a.safetensors, mean: [0.1, 0.2, 0.3], std: [1, 2, 3]}");
  EXPECT_EQ(own->mean, (std::vector<double>{0.1, 0.2, 0.3}));
  EXPECT_TRUE(own->asked);
  EXPECT_EQ(usage_error_of([&] { of("{name: vit_small, mean: [0.1]}"); }),
            "r.yaml:1: encoder 'vit_small': mean and std go together; give both or none");
}

}  // namespace freezing_test
}  // namespace debias
