#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>

#include "debias/core/error.h"
#include "debias/encoders/backbone_options.h"
#include "debias/encoders/encoder.h"
#include "debias/encoders/state.h"
#include "tests/encoders/modules.h"
#include "tests/support/refusals.h"

namespace debias {
namespace state_test {

using State = std::vector<std::pair<std::string, torch::Tensor>>;

const char* const kSection = "{name: resnet18, width: 8}";

std::shared_ptr<Encoder> encoder(uint64_t seed, const std::string& section = kSection) {
  return read_encoder(parse_yaml(section, "r.yaml")).make(3, seed);
}

class WeightFile : public testing::Test {
 protected:
  ~WeightFile() override { std::remove(path_.c_str()); }

  void write(const State& state) {
    std::vector<TensorBytes> tensors;
    for (const auto& [name, tensor] : state) tensors.push_back(bytes_of(name, tensor));
    write_safetensors(path_, tensors, {});
  }

  ChosenEncoder chosen_with_weights() {
    Config section = parse_yaml(kSection, "r.yaml");
    section.set("weights", Config::string(path_));
    return read_encoder(section);
  }
  std::shared_ptr<Encoder> with_weights(uint64_t seed) { return chosen_with_weights().make(3, seed); }

  // The message of loading into an encoder, which must be unchanged by the failure.
  std::string message(const std::string& section = kSection) {
    const auto target = encoder(2, section), untouched = encoder(2, section);
    const std::string text = data_error_of([&] { import_weights(*target, path_); });
    const auto a = named_state(*target), b = named_state(*untouched);
    for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(at::equal(a[i].second, b[i].second)) << a[i].first;
    EXPECT_EQ(text.rfind(path_, 0), 0u) << text;
    return text.substr(std::min(text.size(), path_.size()));
  }

  std::string path_ = testing::TempDir() + "debias_state_test_" + std::to_string(getpid()) + ".safetensors";
};

bool same(const Encoder& a, const Encoder& b) {
  const auto left = named_state(a), right = named_state(b);
  for (size_t i = 0; i < left.size(); ++i) {
    if (!at::equal(left[i].second, right[i].second)) return false;
  }
  return true;
}

TEST_F(WeightFile, TorchvisionsKeysLoadAndItsClassifierIsIgnored) {
  const auto source = encoder(1);
  State state = named_state(*source);
  state.emplace_back("fc.weight", at::ones({10, 16}));
  state.emplace_back("fc.bias", at::ones({10}));
  write(state);
  EXPECT_FALSE(same(*encoder(2), *source));
  EXPECT_TRUE(same(*with_weights(2), *source));
  EXPECT_EQ(chosen_with_weights().section.find("weights")->text(), path_);
}

TEST_F(WeightFile, CheckpointsLoadTheirEncoder) {
  const auto source = encoder(1);
  State state = named_state(*source, "encoder.");
  state.emplace_back("head.fc1.weight", at::ones({3}));
  write(state);
  EXPECT_TRUE(same(*with_weights(2), *source));
}

TEST_F(WeightFile, WhatDoesNotFitIsNamed) {
  const std::string file_is = "; the file is of {name: resnet18, stem: cifar, width: 8}";
  const State right = named_state(*encoder(1));
  State missing = right, unexpected = named_state(*encoder(1), "encoder."), other_type = right;
  std::erase_if(missing, [](const auto& entry) { return entry.first == "layer4.1.bn2.running_var"; });
  unexpected.emplace_back("encoder.layer5.weight", at::ones({1}));
  other_type.back().second = other_type.back().second.to(at::kInt);
  write(missing);
  EXPECT_EQ(message(), ": key 'layer4.1.bn2.running_var' is missing; give the file of a model of this kind");
  write(unexpected);
  EXPECT_EQ(message(), ": key 'encoder.layer5.weight' is unexpected" + file_is);
  write(right);
  EXPECT_EQ(message("{name: resnet18, width: 8, stem: imagenet}"),
            ": key 'conv1.weight': expected float32 [8, 3, 7, 7], found float32 [8, 3, 3, 3]" + file_is);
  write(other_type);
  EXPECT_EQ(message(), ": key 'layer4.1.bn2.num_batches_tracked': expected int64 [], found int32 []" + file_is);
}

TEST_F(WeightFile, LoadStateTakesItsPrefixExactly) {
  const auto source = encoder(1), target = encoder(2);
  State state = named_state(*source, "encoder.");
  state.emplace_back("encoder2.other", at::ones({1}));
  write(state);
  load_state(*target, SafetensorsFile::open(path_), "encoder.");
  EXPECT_TRUE(same(*source, *target));
  state.emplace_back("encoder.fc.bias", at::ones({1}));
  write(state);
  EXPECT_THROW(load_state(*target, SafetensorsFile::open(path_), "encoder."), Error);
}

TEST_F(WeightFile, EveryTypeSurvives) {
  State state;
  for (const auto type :
       {at::kBool, at::kByte, at::kChar, at::kShort, at::kInt, at::kLong, at::kHalf, at::kBFloat16, at::kFloat, at::kDouble}) {
    state.emplace_back(c10::toString(type), at::arange(6, at::kFloat).view({2, 3}).to(type));
  }
  state.emplace_back("empty", at::empty({0, 3}));
  write(state);
  const SafetensorsFile file = SafetensorsFile::open(path_);
  for (const auto& [name, tensor] : state) {
    const torch::Tensor read = read_tensor(file, *file.find(name));
    EXPECT_EQ(read.scalar_type(), tensor.scalar_type());
    EXPECT_TRUE(at::equal(read, tensor)) << name;
  }
}

TEST(State, WhatCannotBeStoredIsRefused) {
  EXPECT_THROW(dtype_of(at::zeros({1}, at::kComplexFloat)), Error);
  EXPECT_THROW(bytes_of("x", at::zeros({2, 3}).t()), std::logic_error);
}

std::shared_ptr<Encoder> encoder(const std::string& yaml) { return encoder(1, yaml); }

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

}  // namespace state_test
}  // namespace debias
