#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "debias/core/config.h"
#include "debias/core/error.h"
#include "debias/encoders/encoder.h"
#include "debias/encoders/state.h"
#include "tests/encoders/golden_weights.h"
#include "tests/encoders/modules.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace backbone_weights_test {

class BackboneWeights : public testing::Test {
 protected:
  std::string path() const { return folder_ / "weights.safetensors"; }

  Config section(const std::string& yaml) const {
    Config section = parse_yaml(yaml, "r.yaml");
    section.set("weights", Config::string(path()));
    return section;
  }

  std::string data_message(const std::string& yaml) const {
    return without_path(data_error_of([&] { read_encoder(section(yaml)).make(3, 1); }));
  }
  std::string usage_message(const std::string& yaml) const {
    return without_path(usage_error_of([&] { read_encoder(section(yaml)).make(3, 1); }));
  }

  std::string without_path(std::string text) const {
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    if (const size_t at = text.find(path()); at != std::string::npos) text.replace(at, path().size(), "F");
    return text;
  }

  TemporaryFolder folder_;
};

class GoldenFeatures : public BackboneWeights, public testing::WithParamInterface<const char*> {};

TEST_P(GoldenFeatures, AreThoseOfTheProjectThatPublishesTheKeys) {
  const GoldenBackbone golden(GetParam());
  write_weights_file(path(), golden.weights);
  const auto encoder = read_encoder(section(golden.section())).make(3, 1);
  encoder->eval();
  const at::NoGradGuard no_grad;
  const at::Tensor expected = golden.features();
  const at::Tensor images = golden.images().contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor found = encoder->forward(images).to(at::kDouble).slice(1, 0, std::nullopt, 4);
  ASSERT_EQ(found.sizes(), expected.sizes());
  EXPECT_LT((found - expected).abs().max().item<double>(), 1e-4 * expected.abs().max().item<double>());
}

TEST_P(GoldenFeatures, TheEncoderIsRecognisedByTheKeysAlone) {
  const GoldenBackbone golden(GetParam());
  write_weights_file(path(), golden.weights);
  const auto found = section_of_weights(SafetensorsFile::open(path()));
  ASSERT_TRUE(found.has_value());
  Config expected = parse_yaml(golden.section(), "");
  expected.erase("origin");  // timm's and Google's weights have the same keys
  EXPECT_EQ(*found, expected) << found->to_yaml();
}

INSTANTIATE_TEST_SUITE_P(Projects, GoldenFeatures,
                         testing::Values("torchvision_mobilenet_v2", "timm_mobilenet_v2", "timm_efficientnet_lite0",
                                         "timm_tf_efficientnet_lite0", "torchvision_resnet18", "torchvision_resnet50", "timm_resnet34",
                                         "timm_vit_small", "torchvision_vit_small"),
                         [](const auto& name) { return std::string(name.param); });

// efficientnet-pytorch's keys, from timm's: blocks are counted through.
NamedWeights in_googles_keys(const NamedWeights& weights) {
  const std::vector<int> blocks = {1, 2, 2, 3, 3, 4, 1};
  NamedWeights result;
  for (const auto& [key, tensor] : weights) {
    const size_t dot = key.rfind('.');
    const std::string module = key.substr(0, dot), rest = key.substr(dot);
    std::string named;
    if (module == "conv_stem") named = "_conv_stem";
    if (module == "bn1") named = "_bn0";
    if (module == "conv_head") named = "_conv_head";
    if (module == "bn2") named = "_bn1";
    if (module == "classifier") named = "_fc";
    int place = 0;
    for (size_t stage = 0; stage < blocks.size(); ++stage) {
      for (int i = 0; i < blocks[stage]; ++i, ++place) {
        const std::string block = fmt::format("blocks.{}.{}.", stage, i);
        if (!module.starts_with(block)) continue;
        const std::string part = module.substr(block.size());
        const bool first = stage == 0;
        const std::string theirs = part == "conv_dw"                                    ? "_depthwise_conv"
                                   : part == "conv_pwl" || (first && part == "conv_pw") ? "_project_conv"
                                   : part == "conv_pw"                                  ? "_expand_conv"
                                   : part == "bn3" || (first && part == "bn2")          ? "_bn2"
                                   : part == "bn2" || first                             ? "_bn1"
                                                                                        : "_bn0";
        named = fmt::format("_blocks.{}.{}", place, theirs);
      }
    }
    EXPECT_FALSE(named.empty()) << key;
    result.emplace_back(named + rest, tensor);
  }
  return result;
}

TEST_F(BackboneWeights, KeysOfEfficientnetPytorchNeedGooglesPadding) {
  const GoldenBackbone golden("timm_tf_efficientnet_lite0");
  write_weights_file(path(), in_googles_keys(golden.weights));
  const auto described = section_of_weights(SafetensorsFile::open(path()));
  ASSERT_TRUE(described.has_value());
  EXPECT_EQ(*described, parse_yaml(golden.section(), ""));
  const auto encoder = read_encoder(section(golden.section())).make(3, 1);
  encoder->eval();
  const at::NoGradGuard no_grad;
  const at::Tensor expected = golden.features();
  const at::Tensor found = encoder->forward(golden.images()).to(at::kDouble).slice(1, 0, std::nullopt, 4);
  EXPECT_LT((found - expected).abs().max().item<double>(), 1e-4 * expected.abs().max().item<double>());
  EXPECT_EQ(usage_message("{name: efficientnet_lite0}"),
            "F: its keys are those of efficientnet-pytorch, whose networks compute otherwise; add origin: tensorflow to the encoder");
}

TEST_F(BackboneWeights, HalfPrecisionIsWidenedAndMissingCountersAreZero) {
  NamedWeights weights;
  const auto source = read_encoder(parse_yaml("{name: resnet18, width: 8}", "")).make(3, 1);
  for (const auto& [name, tensor] : named_state(*source)) {
    if (name.ends_with("num_batches_tracked")) continue;
    weights.emplace_back("module." + name, tensor.detach().to(at::kHalf));
  }
  write_weights_file(path(), weights);
  const auto encoder = read_encoder(section("{name: resnet18, width: 8}")).make(3, 2);
  const auto found = named_state(*encoder), expected = named_state(*source);
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].second.scalar_type(), expected[i].second.scalar_type());
    const at::Tensor rounded =
        expected[i].second.is_floating_point() ? expected[i].second.to(at::kHalf).to(at::kFloat) : expected[i].second;
    EXPECT_TRUE(at::equal(found[i].second, rounded)) << found[i].first;
  }
}

TEST_F(BackboneWeights, KeysOfAnotherNetworkNameIt) {
  const GoldenBackbone golden("torchvision_mobilenet_v2");
  write_weights_file(path(), golden.weights);
  EXPECT_EQ(data_message("{name: resnet18}"), "F: its keys are not those of encoder 'resnet18' but of {name: mobilenet_v2}");
  EXPECT_EQ(data_message("{name: vit_small}"), "F: its keys are not those of encoder 'vit_small' but of {name: mobilenet_v2}");
  write_weights_file(path(), {{"layers.0.weight", at::ones({2, 2})}});
  EXPECT_EQ(
      data_message("{name: mobilenet_v2}"),
      "F: its keys ('layers.0.weight', ...) are not those of encoder 'mobilenet_v2' (torchvision, timm); give the file of such a model");
}

TEST_F(BackboneWeights, TheStemOfTorchvisionsResNetsIsNamed) {
  const GoldenBackbone golden("torchvision_resnet18");
  write_weights_file(path(), golden.weights);
  EXPECT_EQ(data_message("{name: resnet18}"),
            "F: key 'conv1.weight': expected float32 [64, 3, 3, 3], found float32 [64, 3, 7, 7]; the file is of {name: resnet18, stem: "
            "imagenet}");
}

TEST_F(BackboneWeights, WhatIsMissingUnexpectedOrNotFiniteIsNamed) {
  const GoldenBackbone golden("torchvision_mobilenet_v2");
  NamedWeights weights = golden.weights;
  std::erase_if(weights, [](const auto& entry) { return entry.first == "features.7.conv.2.weight"; });
  write_weights_file(path(), weights);
  EXPECT_EQ(data_message("{name: mobilenet_v2}"), "F: key 'features.7.conv.2.weight' is missing; give the file of a model of this kind");
  weights = golden.weights;
  weights.emplace_back("features.7.se.weight", at::ones({1}));
  write_weights_file(path(), weights);
  EXPECT_EQ(data_message("{name: mobilenet_v2}"), "F: key 'features.7.se.weight' is unexpected; the file is of {name: mobilenet_v2}");
  weights = golden.weights;
  weights[40].second.view({-1})[0] = std::nan("");
  write_weights_file(path(), weights);
  EXPECT_EQ(data_message("{name: mobilenet_v2}"),
            "F: key '" + weights[40].first + "' has values that are not finite; take another copy of the file");
}

TEST_F(BackboneWeights, PicklesAndTruncatedFilesAreNotOpened) {
  for (const std::string& start : {std::string("PK\x03\x04"), std::string("\x80\x02}q\x00", 5), std::string("\x80\x04\x95", 3)}) {
    std::ofstream(path(), std::ios::binary) << start << std::string(100, '\x01');
    EXPECT_EQ(
        data_message("{name: mobilenet_v2}"),
        "F: it is a file of torch.save or another archive, and weights are read from safetensors; convert it: python -m debias.weights "
        "convert FILE weights.safetensors");
  }
  const GoldenBackbone golden("timm_vit_small");
  write_weights_file(path(), golden.weights);
  std::filesystem::resize_file(path(), std::filesystem::file_size(path()) - 1);
  EXPECT_NE(data_message("{name: vit_small, size: 64}"), "");
  std::filesystem::remove(path());
  EXPECT_NE(data_message("{name: vit_small, size: 64}"), "");
}

TEST_F(BackboneWeights, ATransformerTakesItsOwnSizeOnly) {
  const GoldenBackbone golden("timm_vit_small");
  write_weights_file(path(), golden.weights);
  EXPECT_EQ(data_message("{name: vit_small}"),
            "F: key 'pos_embed': expected float32 [1, 197, 384], found float32 [1, 17, 384]; the file is of {name: vit_small, size: 64}");
  const auto encoder = read_encoder(section("{name: vit_small, size: 64}")).make(3, 1);
  EXPECT_EQ(encoder->image_side(), 64);
  EXPECT_EQ(usage_error_of([&] {
              encoder->forward(at::zeros({1, 3, 32, 64}));
            }),
            "encoder 'vit_small': images of 32x64 pixels; it takes 64x64");
  EXPECT_EQ(usage_error_of([] { read_encoder(parse_yaml("{name: vit_small, size: 100}", "r.yaml")).make(3, 1); }),
            "r.yaml:1: encoder 'vit_small': size: 100 is not a multiple of 16; give 96");
}

}  // namespace backbone_weights_test
}  // namespace debias
