#include "debias/encoders/efficientnet_lite0.h"

#include <fmt/format.h>

#include "debias/encoders/mobile_network.h"

namespace debias {
namespace {

const std::vector<MobileStage>& lite0_stages() {
  static const std::vector<MobileStage> stages = {{1, 16, 1, 1, 3},  {6, 24, 2, 2, 3},  {6, 40, 2, 2, 5}, {6, 80, 3, 2, 3},
                                                  {6, 112, 3, 1, 5}, {6, 192, 4, 2, 5}, {6, 320, 1, 1, 3}};
  return stages;
}

constexpr int64_t kLite0Blocks = 16;

std::string lite0_stage(const MobileUnit& unit) {
  if (unit.kind == MobileUnit::Kind::kStem) return "stem";
  if (unit.kind == MobileUnit::Kind::kHead) return "head";
  return fmt::format("blocks.{}", unit.stage);
}

std::pair<std::string, std::string> efficientnet_pytorch_names(const MobileUnit& unit) {
  const std::string block = fmt::format("_blocks.{}.", unit.place);
  switch (unit.kind) {
    case MobileUnit::Kind::kStem:
      return {"_conv_stem", "_bn0"};
    case MobileUnit::Kind::kHead:
      return {"_conv_head", "_bn1"};
    case MobileUnit::Kind::kExpand:
      return {block + "_expand_conv", block + "_bn0"};
    case MobileUnit::Kind::kDepthwise:
      return {block + "_depthwise_conv", block + "_bn1"};
    case MobileUnit::Kind::kProject:
      break;
  }
  return {block + "_project_conv", block + "_bn2"};
}

MobileArchitecture lite0_architecture(LiteOrigin origin) {
  MobileArchitecture architecture{.stages = lite0_stages()};
  if (origin == LiteOrigin::kTimm) return architecture;
  architecture.padding = MobilePadding::kSame;
  architecture.eps = 1e-3;
  architecture.momentum = 0.01;
  return architecture;
}

class EfficientNetLite0 final : public MobileNetwork {
 public:
  EfficientNetLite0(const EfficientNetLite0Options& options, int64_t in_channels, uint64_t seed)
      : MobileNetwork(lite0_architecture(options.origin()), timm_mobile_names, in_channels, seed), options_(options) {}

  std::string registry_name() const override { return "efficientnet_lite0"; }
  std::vector<EncoderStage> stages() const override { return stages_by(lite0_stage); }
  std::vector<WeightLayout> weight_layouts() const override {
    WeightLayout google = layout("efficientnet-pytorch", efficientnet_pytorch_names, {"_fc."});
    google.needs = "origin: tensorflow";
    google.has_needed = [origin = options_.origin()] { return origin == LiteOrigin::kTensorflow; };
    return {layout("timm", timm_mobile_names, {"classifier."}), google};
  }

 private:
  EfficientNetLite0Options options_;
};

}  // namespace

const OptionTable<EfficientNetLite0Options>& EfficientNetLite0Options::table() {
  using Self = EfficientNetLite0Options;
  static const auto table =
      OptionTable<Self>()
          .add("origin", &Self::origin_, "timm's efficientnet_lite0, or Google's (tf_efficientnet_lite0): other padding and normalisation")
          .include(BackboneOptions::table());
  return table;
}

std::shared_ptr<Encoder> make_efficientnet_lite0(const EfficientNetLite0Options& options, int64_t in_channels, uint64_t seed) {
  EfficientNetLite0Options::table().verify(options, "encoder 'efficientnet_lite0'");
  if (in_channels < 1) throw usage_error("encoder 'efficientnet_lite0': images of {} channels; it needs at least 1", in_channels);
  return std::make_shared<EfficientNetLite0>(options, in_channels, seed);
}

std::optional<Config> efficientnet_lite0_section(const WeightShapes& shapes) {
  const auto has_block = [&](int64_t place) { return shapes.contains(fmt::format("_blocks.{}._depthwise_conv.weight", place)); };
  const bool googles = shapes.contains("_conv_stem.weight") && has_block(kLite0Blocks - 1) && !has_block(kLite0Blocks) &&
                       !shapes.contains("_blocks.0._se_reduce.weight");
  if (!googles && !has_timm_blocks(shapes, lite0_stages())) return std::nullopt;
  Config section = Config::map({{"name", Config::string("efficientnet_lite0")}});
  if (googles) section.set("origin", Config::scalar(std::string(enum_name(LiteOrigin::kTensorflow))));
  return section;
}

}  // namespace debias
