#include "debias/core/registry.h"

#include "debias/encoders/alexnet.h"
#include "debias/encoders/backbone_options.h"
#include "debias/encoders/bagnet.h"
#include "debias/encoders/efficientnet_lite0.h"
#include "debias/encoders/encoder.h"
#include "debias/encoders/freezing.h"
#include "debias/encoders/heads.h"
#include "debias/encoders/mobilenet_v2.h"
#include "debias/encoders/resnet.h"
#include "debias/encoders/sentence_encoders.h"
#include "debias/encoders/simple_convnet.h"
#include "debias/encoders/state.h"
#include "debias/encoders/torchscript.h"
#include "debias/encoders/vision_transformer.h"

namespace debias {
namespace {

// Input of networks that are published with weights of ImageNet; vit_small's are AugReg's, whose images are in [-1, 1].
const std::vector<double> kImageNetMean = {0.485, 0.456, 0.406}, kImageNetStd = {0.229, 0.224, 0.225};
constexpr int64_t kImageNetSide = 224;
PretrainedInput imagenet_input() { return {kImageNetMean, kImageNetStd, kImageNetSide}; }
PretrainedInput unit_input() { return {{0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}, kImageNetSide}; }

// Resolved recipes of before these options have none; without a default, neither have those of now, and the runs of then can be resumed.
std::vector<OptionSpec> without_new_defaults(std::vector<OptionSpec> specs) {
  for (OptionSpec& spec : specs) {
    for (const char* name : {"stem_width", "freeze", "freeze_epochs", "learning_rate", "layer_decay", "mean", "std"}) {
      if (spec.name == name) spec.default_value = Config();
    }
  }
  return specs;
}

EncoderEntry resnet(int depth, const std::string& summary) {
  const std::string name = fmt::format("resnet{}", depth);
  const auto make = [depth, name](const Config& section, int64_t in_channels, uint64_t seed) -> std::shared_ptr<Encoder> {
    const auto options = ResNetOptions::table().read(section_map(section), fmt::format("encoder '{}'", name), {"name"});
    return std::make_shared<ResNet>(depth, options, in_channels, seed);
  };
  const auto section_of = [name](const WeightShapes& shapes) {
    std::optional<Config> section = resnet_section(shapes);
    return section && section->find("name")->text() == name ? section : std::nullopt;
  };
  EncoderEntry entry{name, {}, summary, without_new_defaults(ResNetOptions::table().specs()), make};
  entry.pretrained = imagenet_input();
  entry.section_of = section_of;
  return entry;
}

EncoderEntry simple_convnet() {
  const auto make = [](const Config& section, int64_t in_channels, uint64_t seed) {
    const auto options = SimpleConvNetOptions::table().read(section_map(section), "encoder 'simple_convnet'", {"name"});
    return make_simple_convnet(options, in_channels, seed);
  };
  return {"simple_convnet",
          {},
          "four 7x7 convolutions without pooling, 128 features (Bahng et al. 2020), for 28x28 digits",
          without_new_defaults(SimpleConvNetOptions::table().specs()),
          make};
}

EncoderEntry bagnet18() {
  const auto make = [](const Config& section, int64_t in_channels, uint64_t seed) {
    return make_bagnet18(BagNetOptions::table().read(section_map(section), "encoder 'bagnet18'", {"name"}), in_channels, seed);
  };
  return {"bagnet18",
          {},
          "512 features that each see 5x5 pixels (Bahng et al. 2020), for bias models",
          without_new_defaults(BagNetOptions::table().specs()),
          make};
}

EncoderEntry alexnet_half() {
  const auto make = [](const Config& section, int64_t in_channels, uint64_t seed) {
    const auto options = AlexNetHalfOptions::table().read(section_map(section), "encoder 'alexnet_half'", {"name"});
    return make_alexnet_half(options, in_channels, seed);
  };
  return {"alexnet_half",
          {},
          "the convolutions of an AlexNet of half the channels, 4608 features (Tian et al. 2020), for views of 224x224",
          without_new_defaults(AlexNetHalfOptions::table().specs()),
          make};
}

EncoderEntry mobilenet_v2() {
  const auto make = [](const Config& section, int64_t in_channels, uint64_t seed) {
    const auto options = MobileNetV2Options::table().read(section_map(section), "encoder 'mobilenet_v2'", {"name"});
    return make_mobilenet_v2(options, in_channels, seed);
  };
  EncoderEntry entry{"mobilenet_v2", {}, "MobileNetV2 (Sandler et al. 2018), 1280 features", MobileNetV2Options::table().specs(), make};
  entry.pretrained = imagenet_input();
  entry.section_of = mobilenet_v2_section;
  return entry;
}

EncoderEntry efficientnet_lite0() {
  const auto make = [](const Config& section, int64_t in_channels, uint64_t seed) {
    const auto options = EfficientNetLite0Options::table().read(section_map(section), "encoder 'efficientnet_lite0'", {"name"});
    return make_efficientnet_lite0(options, in_channels, seed);
  };
  EncoderEntry entry{"efficientnet_lite0",
                     {},
                     "EfficientNet-Lite0 (Tan and Le 2019), timm's or Google's, 1280 features",
                     EfficientNetLite0Options::table().specs(),
                     make};
  entry.pretrained = imagenet_input();
  entry.section_of = efficientnet_lite0_section;
  return entry;
}

EncoderEntry vit_small() {
  const auto make = [](const Config& section, int64_t in_channels, uint64_t seed) {
    const auto options = VitSmallOptions::table().read(section_map(section), "encoder 'vit_small'", {"name"});
    return make_vit_small(options, in_channels, seed);
  };
  EncoderEntry entry{
      "vit_small", {}, "ViT-S/16 (Dosovitskiy et al. 2021), 384 features, for images of one size", VitSmallOptions::table().specs(), make};
  entry.pretrained = unit_input();
  entry.section_of = vit_small_section;
  return entry;
}

EncoderEntry torchscript() {
  const auto make = [](const Config& section, int64_t in_channels, uint64_t) {
    const auto options = TorchScriptOptions::table().read(section_map(section), "encoder 'torchscript'", {"name"});
    return make_torchscript(options, in_channels);
  };
  EncoderEntry entry{"torchscript",
                     {},
                     "a network from a TorchScript file; its code is executed, so its SHA-256 is required",
                     TorchScriptOptions::table().specs(),
                     make};
  entry.pretrained = imagenet_input();
  entry.needs_file = true;
  return entry;
}

EncoderEntry gru() {
  const auto make = [](const Config& section, int64_t words, uint64_t seed) {
    return make_gru(GruOptions::table().read(section_map(section), "encoder 'gru'", {"name"}), words, seed);
  };
  return {"gru", {},  "sentence encoder: final states of a gated recurrent unit in one or both directions", GruOptions::table().specs(),
          make,  true};
}

EncoderEntry bag_of_words() {
  const auto make = [](const Config& section, int64_t words, uint64_t seed) {
    return make_bag_of_words(BagOfWordsOptions::table().read(section_map(section), "encoder 'bag_of_words'", {"name"}), words, seed);
  };
  return {"bag_of_words", {}, "sentence encoder: sum of the word embeddings", BagOfWordsOptions::table().specs(), make, true};
}

HeadEntry moco_v3() {
  const auto make = [](const Config& section, int64_t feature_dim, uint64_t seed) {
    return make_moco_v3_head(MocoV3HeadOptions::table().read(section_map(section), "head 'moco_v3'", {"name"}), feature_dim, seed);
  };
  return {"moco_v3",
          {},
          "linear layers without bias, each with batch normalisation, ReLU between them",
          MocoV3HeadOptions::table().specs(),
          make};
}

HeadEntry simclr() {
  const auto make = [](const Config& section, int64_t feature_dim, uint64_t seed) {
    return make_simclr_head(SimclrHeadOptions::table().read(section_map(section), "head 'simclr'", {"name"}), feature_dim, seed);
  };
  return {"simclr", {}, "linear without bias, batch normalisation, ReLU, linear", SimclrHeadOptions::table().specs(), make};
}

HeadEntry mlp() {
  const auto make = [](const Config& section, int64_t feature_dim, uint64_t seed) {
    return make_mlp_head(MlpHeadOptions::table().read(section_map(section), "head 'mlp'", {"name"}), feature_dim, seed);
  };
  return {"mlp", {}, "linear, ReLU, linear; the hidden layer is as wide as the features", MlpHeadOptions::table().specs(), make};
}

HeadEntry linear() {
  const auto make = [](const Config& section, int64_t feature_dim, uint64_t seed) {
    return make_linear_head(LinearHeadOptions::table().read(section_map(section), "head 'linear'", {"name"}), feature_dim, seed);
  };
  return {"linear", {}, "one linear layer", LinearHeadOptions::table().specs(), make};
}

HeadEntry alexnet() {
  const auto make = [](const Config& section, int64_t feature_dim, uint64_t seed) {
    return make_alexnet_head(AlexNetHeadOptions::table().read(section_map(section), "head 'alexnet'", {"name"}), feature_dim, seed);
  };
  return {"alexnet", {}, "twice linear, batch normalisation, ReLU; then linear", AlexNetHeadOptions::table().specs(), make};
}

HeadEntry none() {
  const auto make = [](const Config& section, int64_t feature_dim, uint64_t) {
    NoHeadOptions::table().read(section_map(section), "head 'none'", {"name"});
    return make_no_head(feature_dim);
  };
  return {"none", {}, "the features themselves", NoHeadOptions::table().specs(), make};
}

}  // namespace

const std::vector<EncoderEntry>& encoder_registry() {
  static const std::vector<EncoderEntry> registry = {
      resnet(18, "ResNet-18 (He et al. 2016), 8 x width features"),
      resnet(34, "ResNet-34 (He et al. 2016), 8 x width features"),
      resnet(50, "ResNet-50 (He et al. 2016, stride on the 3x3), 32 x width features"),
      simple_convnet(),
      bagnet18(),
      alexnet_half(),
      mobilenet_v2(),
      efficientnet_lite0(),
      vit_small(),
      torchscript(),
      gru(),
      bag_of_words(),
  };
  return registry;
}

const std::vector<HeadEntry>& head_registry() {
  static const std::vector<HeadEntry> registry = {simclr(), mlp(), linear(), alexnet(), moco_v3(), none()};
  return registry;
}

std::shared_ptr<Encoder> make_encoder(const Config& section, int64_t in_channels, uint64_t seed) {
  const auto& entry = named_entry(encoder_registry(), section, "encoder");
  auto encoder = entry.make(section, in_channels, seed);
  if (entry.reads_words) return encoder;
  const BackboneOptions options = backbone_options(section);
  if (options.weights()) import_weights(*encoder, *options.weights());
  apply_freeze(*encoder, options.freeze(), section.prefix());
  return encoder;
}

std::shared_ptr<Head> make_head(const Config& section, int64_t feature_dim, uint64_t seed) {
  const auto& entry = named_entry(head_registry(), section, "head", section.is_null() ? "none" : "");
  return entry.make(section, feature_dim, seed);
}

}  // namespace debias
