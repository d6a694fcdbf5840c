#include "debias/core/registry.h"

#include <type_traits>
#include <utility>

#include "debias/core/option_mistakes.h"
#include "debias/encoders/backbone_options.h"
#include "debias/encoders/convnets.h"
#include "debias/encoders/encoder.h"
#include "debias/encoders/heads.h"
#include "debias/encoders/mobile_network.h"
#include "debias/encoders/resnet.h"
#include "debias/encoders/sentence_encoders.h"
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

template <class Options>
BackboneOptions backbone_of(const Options& options) {
  if constexpr (requires { options.backbone; }) return options.backbone;
  return {};
}

BackboneOptions backbone_of(const TorchScriptOptions& options) {
  BackboneOptions backbone;
  backbone.freeze = options.freeze;
  backbone.freeze_epochs = options.freeze_epochs;
  backbone.learning_rate = options.learning_rate;
  backbone.mean = options.mean;
  backbone.std = options.std;
  return backbone;
}

template <class Options>
Options without_files(Options options) {
  if constexpr (requires { options.backbone; }) options.backbone.weights = std::nullopt;
  if constexpr (requires { options.vectors; }) options.vectors = "";
  return options;
}

// No weights are published for the 3x3 stem of small images.
template <class Options>
std::optional<PretrainedInput> pretrained_input(const EncoderEntry& entry, const Options& options) {
  if constexpr (requires { options.stem; }) {
    if (options.stem == Stem::kCifar) return std::nullopt;
  }
  std::optional<PretrainedInput> input = entry.pretrained;
  if constexpr (requires { options.size; }) {
    if (input) input->side = options.size;
  }
  return input;
}

template <class Options>
using MakeEncoder = std::function<std::shared_ptr<Encoder>(const Options& options, int64_t in_channels, uint64_t seed)>;

template <class Options>
ChosenEncoder chosen_encoder(const EncoderEntry& entry, Config section, const Options& options, const MakeEncoder<Options>& make) {
  ChosenEncoder chosen{&entry, std::move(section)};
  chosen.where = chosen.section.prefix();
  chosen.backbone = backbone_of(options);
  chosen.weights_file = chosen.backbone.weights.value_or("");
  if constexpr (requires { options.file; }) chosen.weights_file = options.file;
  chosen.pretrained = pretrained_input(entry, options);
  if constexpr (requires { options.channels; }) chosen.channels = options.channels;
  chosen.make = [options, make, backbone = chosen.backbone, where = chosen.where](int64_t in_channels, uint64_t seed) {
    const std::shared_ptr<Encoder> encoder = make(options, in_channels, seed);
    if (backbone.weights) import_weights(*encoder, *backbone.weights);
    apply_freeze(*encoder, backbone.freeze, where);
    return encoder;
  };
  chosen.without_weights = [&entry, options, make, section = chosen.section] {
    Config left = section;
    for (const char* key : {"weights", "vectors"}) left.erase(key);
    return chosen_encoder<Options>(entry, std::move(left), without_files(options), make);
  };
  return chosen;
}

template <class Options>
EncoderEntry encoder_entry(const std::string& name, const std::string& summary, const MakeEncoder<Options>& make) {
  const auto read = [make](const EncoderEntry& entry, const Config& section) {
    const std::string what = fmt::format("encoder '{}'", entry.name);
    const auto options = read_options<Options>(section, what, {"name"});
    check_options(backbone_of(options), section.prefix() + what);
    return chosen_encoder<Options>(entry, with_defaults(section, entry.options), options, make);
  };
  return {name, {}, summary, option_specs<Options>(), read};
}

template <class Options>
EncoderEntry entry_without_new_defaults(const std::string& name, const std::string& summary, const MakeEncoder<Options>& make) {
  EncoderEntry entry = encoder_entry<Options>(name, summary, make);
  entry.options = without_new_defaults(std::move(entry.options));
  return entry;
}

template <class Options>
EncoderEntry pretrained_entry(const std::string& name, const std::string& summary, const MakeEncoder<Options>& make,
                              const PretrainedInput& input, std::optional<Config> (*section_of)(const WeightShapes&)) {
  EncoderEntry entry = encoder_entry<Options>(name, summary, make);
  entry.pretrained = input;
  entry.section_of = section_of;
  return entry;
}

EncoderEntry resnet(int depth, const std::string& summary) {
  const std::string name = fmt::format("resnet{}", depth);
  const auto make = [depth](const ResNetOptions& options, int64_t in_channels, uint64_t seed) {
    return std::make_shared<ResNet>(depth, options, in_channels, seed);
  };
  EncoderEntry entry = entry_without_new_defaults<ResNetOptions>(name, summary, make);
  entry.pretrained = imagenet_input();
  entry.section_of = [depth](const WeightShapes& shapes) { return resnet_section(depth, shapes); };
  return entry;
}

EncoderEntry torchscript() {
  const auto make = [](const TorchScriptOptions& options, int64_t in_channels, uint64_t) { return make_torchscript(options, in_channels); };
  EncoderEntry entry = encoder_entry<TorchScriptOptions>(
      "torchscript", "a network from a TorchScript file; its code is executed, so its SHA-256 is required", make);
  entry.pretrained = imagenet_input();
  entry.needs_file = true;
  return entry;
}

template <class Options>
EncoderEntry sentence_entry(const std::string& name, const std::string& summary, const MakeEncoder<Options>& make) {
  EncoderEntry entry = encoder_entry<Options>(name, "sentence encoder: " + summary, make);
  entry.reads_words = true;
  return entry;
}

template <class Options>
HeadEntry head_entry(const std::string& name, const std::string& summary,
                     std::shared_ptr<Head> (*make)(const Options& options, int64_t feature_dim, uint64_t seed)) {
  const auto read = [make](const HeadEntry& entry, const Config& section) {
    const auto options = read_options<Options>(section, fmt::format("head '{}'", entry.name), {"name"});
    const auto make_head = [options, make](int64_t feature_dim, uint64_t seed) { return make(options, feature_dim, seed); };
    return ChosenHead{&entry, with_defaults(section, entry.options), make_head};
  };
  return {name, {}, summary, option_specs<Options>(), read};
}

HeadEntry none() {
  HeadEntry entry = head_entry<NoOptions>("none", "the features themselves",
                                          [](const NoOptions&, int64_t feature_dim, uint64_t) { return make_no_head(feature_dim); });
  entry.projects = false;
  return entry;
}

}  // namespace

const std::vector<EncoderEntry>& encoder_registry() {
  static const std::vector<EncoderEntry> registry = {
      resnet(18, "ResNet-18 (He et al. 2016), 8 x width features"),
      resnet(34, "ResNet-34 (He et al. 2016), 8 x width features"),
      resnet(50, "ResNet-50 (He et al. 2016, stride on the 3x3), 32 x width features"),
      entry_without_new_defaults<SimpleConvNetOptions>(
          "simple_convnet", "four 7x7 convolutions without pooling, 128 features (Bahng et al. 2020), for 28x28 digits",
          make_simple_convnet),
      entry_without_new_defaults<BagNetOptions>("bagnet18", "512 features that each see 5x5 pixels (Bahng et al. 2020), for bias models",
                                                make_bagnet18),
      entry_without_new_defaults<AlexNetHalfOptions>(
          "alexnet_half", "the convolutions of an AlexNet of half the channels, 4608 features (Tian et al. 2020), for views of 224x224",
          make_alexnet_half),
      pretrained_entry<MobileNetV2Options>("mobilenet_v2", "MobileNetV2 (Sandler et al. 2018), 1280 features", make_mobilenet_v2,
                                           imagenet_input(), mobilenet_v2_section),
      pretrained_entry<EfficientNetLite0Options>("efficientnet_lite0",
                                                 "EfficientNet-Lite0 (Tan and Le 2019), timm's or Google's, 1280 features",
                                                 make_efficientnet_lite0, imagenet_input(), efficientnet_lite0_section),
      pretrained_entry<VitSmallOptions>("vit_small", "ViT-S/16 (Dosovitskiy et al. 2021), 384 features, for images of one size",
                                        make_vit_small, unit_input(), vit_small_section),
      torchscript(),
      sentence_entry<GruOptions>("gru", "final states of a gated recurrent unit in one or both directions", make_gru),
      sentence_entry<BagOfWordsOptions>("bag_of_words", "sum of the word embeddings", make_bag_of_words),
  };
  return registry;
}

const std::vector<HeadEntry>& head_registry() {
  static const std::vector<HeadEntry> registry = {
      head_entry("simclr", "linear without bias, batch normalisation, ReLU, linear", make_simclr_head),
      head_entry("mlp", "linear, ReLU, linear; the hidden layer is as wide as the features", make_mlp_head),
      head_entry("linear", "one linear layer", make_linear_head),
      head_entry("alexnet", "twice linear, batch normalisation, ReLU; then linear", make_alexnet_head),
      head_entry("moco_v3", "linear layers without bias, each with batch normalisation, ReLU between them", make_moco_v3_head),
      none(),  // the last: of a recipe that names none
  };
  return registry;
}

std::optional<InputNormalisation> ChosenEncoder::normalisation() const {
  if (backbone.mean) return InputNormalisation{*backbone.mean, *backbone.std, true};
  if (!pretrained || weights_file.empty()) return std::nullopt;
  return InputNormalisation{pretrained->mean, pretrained->std, false};
}

ChosenEncoder read_encoder(const Config& section) {
  const EncoderEntry& entry = named_entry(encoder_registry(), section, "encoder");
  return entry.read(entry, section_map(section));
}

bool ChosenHead::projects() const { return entry != nullptr && entry->projects; }

ChosenHead read_head(const Config& section) {
  const HeadEntry& entry = section.is_null() ? head_registry().back() : named_entry(head_registry(), section, "head");
  ChosenHead chosen = entry.read(entry, section.is_null() ? Config::map() : section_map(section));
  if (!entry.projects) chosen.section.set("name", Config::scalar(entry.name));
  return chosen;
}

}  // namespace debias
