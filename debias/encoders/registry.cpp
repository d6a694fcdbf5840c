#include "debias/core/registry.h"

#include "debias/encoders/alexnet.h"
#include "debias/encoders/bagnet.h"
#include "debias/encoders/encoder.h"
#include "debias/encoders/heads.h"
#include "debias/encoders/resnet.h"
#include "debias/encoders/sentence_encoders.h"
#include "debias/encoders/simple_convnet.h"
#include "debias/encoders/state.h"

namespace debias {
namespace {

// Resolved recipes of before `stem_width` have none; without a default, neither have those of now, and the runs of then can be resumed.
std::vector<OptionSpec> resnet_options() {
  std::vector<OptionSpec> specs = ResNetOptions::table().specs();
  for (OptionSpec& spec : specs) {
    if (spec.name == "stem_width") spec.default_value = Config();
  }
  return specs;
}

EncoderEntry resnet(int depth, const std::string& summary) {
  const std::string name = fmt::format("resnet{}", depth);
  const auto make = [depth, name](const Config& section, int64_t in_channels, uint64_t seed) -> std::shared_ptr<Encoder> {
    const auto options = ResNetOptions::table().read(section_map(section), fmt::format("encoder '{}'", name), {"name"});
    return std::make_shared<ResNet>(depth, options, in_channels, seed);
  };
  return {name, {}, summary, resnet_options(), make};
}

EncoderEntry simple_convnet() {
  const auto make = [](const Config& section, int64_t in_channels, uint64_t seed) {
    const auto options = SimpleConvNetOptions::table().read(section_map(section), "encoder 'simple_convnet'", {"name"});
    return make_simple_convnet(options, in_channels, seed);
  };
  return {"simple_convnet",
          {},
          "four 7x7 convolutions without pooling, 128 features (Bahng et al. 2020), for 28x28 digits",
          SimpleConvNetOptions::table().specs(),
          make};
}

EncoderEntry bagnet18() {
  const auto make = [](const Config& section, int64_t in_channels, uint64_t seed) {
    return make_bagnet18(BagNetOptions::table().read(section_map(section), "encoder 'bagnet18'", {"name"}), in_channels, seed);
  };
  return {"bagnet18", {}, "features of 5x5 pixels, 512 of them (Bahng et al. 2020): a bias model", BagNetOptions::table().specs(), make};
}

EncoderEntry alexnet_half() {
  const auto make = [](const Config& section, int64_t in_channels, uint64_t seed) {
    const auto options = AlexNetHalfOptions::table().read(section_map(section), "encoder 'alexnet_half'", {"name"});
    return make_alexnet_half(options, in_channels, seed);
  };
  return {"alexnet_half",
          {},
          "the convolutions of an AlexNet of half the channels, 4608 features (Tian et al. 2020), for views of 224x224",
          AlexNetHalfOptions::table().specs(),
          make};
}

EncoderEntry gru() {
  const auto make = [](const Config& section, int64_t words, uint64_t seed) {
    return make_gru(GruOptions::table().read(section_map(section), "encoder 'gru'", {"name"}), words, seed);
  };
  return {"gru", {},  "of sentences: final states of a gated recurrent unit, one or both directions", GruOptions::table().specs(),
          make,  true};
}

EncoderEntry bag_of_words() {
  const auto make = [](const Config& section, int64_t words, uint64_t seed) {
    return make_bag_of_words(BagOfWordsOptions::table().read(section_map(section), "encoder 'bag_of_words'", {"name"}), words, seed);
  };
  return {"bag_of_words", {}, "of sentences: the sum of the embeddings of the words", BagOfWordsOptions::table().specs(), make, true};
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
      gru(),
      bag_of_words(),
  };
  return registry;
}

const std::vector<HeadEntry>& head_registry() {
  static const std::vector<HeadEntry> registry = {simclr(), mlp(), linear(), alexnet(), none()};
  return registry;
}

std::shared_ptr<Encoder> make_encoder(const Config& section, int64_t in_channels, uint64_t seed) {
  const auto& entry = find_entry(encoder_registry(), section_name(section, "encoder"), "encoder", section.prefix());
  auto encoder = entry.make(section, in_channels, seed);
  const Config resolved = encoder->config();
  const Config* weights = resolved.find("weights");
  if (weights != nullptr && weights->text() != "none") import_weights(*encoder, weights->text());
  return encoder;
}

std::shared_ptr<Head> make_head(const Config& section, int64_t feature_dim, uint64_t seed) {
  const auto& entry = find_entry(head_registry(), section_name(section, "head", section.is_null() ? "none" : ""), "head", section.prefix());
  return entry.make(section, feature_dim, seed);
}

}  // namespace debias
