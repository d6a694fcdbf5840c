#include "debias/encoders/state.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "debias/core/error.h"
#include "debias/encoders/encoder.h"
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

TEST_F(WeightFile, MissingKeyIsNamed) {
  State state = named_state(*encoder(1));
  std::erase_if(state, [](const auto& entry) { return entry.first == "layer4.1.bn2.running_var"; });
  write(state);
  EXPECT_EQ(message(), ": key 'layer4.1.bn2.running_var' is missing; give the file of a model of this kind");
}

TEST_F(WeightFile, UnexpectedKeyIsNamed) {
  State state = named_state(*encoder(1), "encoder.");
  state.emplace_back("encoder.layer5.weight", at::ones({1}));
  write(state);
  EXPECT_EQ(message(), ": key 'encoder.layer5.weight' is unexpected; the file is of {name: resnet18, stem: cifar, width: 8}");
}

TEST_F(WeightFile, WrongShapeIsNamed) {
  write(named_state(*encoder(1)));
  EXPECT_EQ(message("{name: resnet18, width: 8, stem: imagenet}"),
            ": key 'conv1.weight': expected float32 [8, 3, 7, 7], found float32 [8, 3, 3, 3]; the file is of {name: resnet18, stem: cifar, "
            "width: 8}");
}

TEST_F(WeightFile, WrongTypeIsNamed) {
  State state = named_state(*encoder(1));
  state.back().second = state.back().second.to(at::kInt);
  write(state);
  EXPECT_EQ(message(),
            ": key 'layer4.1.bn2.num_batches_tracked': expected int64 [], found int32 []; the file is of {name: resnet18, stem: cifar, "
            "width: 8}");
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

}  // namespace state_test
}  // namespace debias
