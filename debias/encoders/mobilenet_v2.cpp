#include "debias/encoders/mobilenet_v2.h"

#include <fmt/format.h>

#include "debias/encoders/mobile_network.h"

namespace debias {
namespace {

// Table 2 of the paper.
const std::vector<MobileStage>& mobilenet_v2_stages() {
  static const std::vector<MobileStage> stages = {{1, 16, 1, 1, 3}, {6, 24, 2, 2, 3},  {6, 32, 3, 2, 3}, {6, 64, 4, 2, 3},
                                                  {6, 96, 3, 1, 3}, {6, 160, 3, 2, 3}, {6, 320, 1, 1, 3}};
  return stages;
}

constexpr int64_t kMobileNetV2Blocks = 17;

std::string torchvision_part(const MobileUnit& unit) {
  if (unit.kind == MobileUnit::Kind::kStem) return "features.0";
  return fmt::format("features.{}", unit.kind == MobileUnit::Kind::kHead ? kMobileNetV2Blocks + 1 : unit.place + 1);
}

// The last convolution of a block and its normalisation are beside the others, which are pairs.
std::pair<std::string, std::string> torchvision_mobile_names(const MobileUnit& unit) {
  const std::string part = torchvision_part(unit);
  const int before = unit.expands ? 1 : 0;  // pairs before the depthwise one
  switch (unit.kind) {
    case MobileUnit::Kind::kExpand:
      return {part + ".conv.0.0", part + ".conv.0.1"};
    case MobileUnit::Kind::kDepthwise:
      return {fmt::format("{}.conv.{}.0", part, before), fmt::format("{}.conv.{}.1", part, before)};
    case MobileUnit::Kind::kProject:
      return {fmt::format("{}.conv.{}", part, before + 1), fmt::format("{}.conv.{}", part, before + 2)};
    default:
      return {part + ".0", part + ".1"};
  }
}

class MobileNetV2 final : public MobileNetwork {
 public:
  MobileNetV2(int64_t in_channels, uint64_t seed)
      : MobileNetwork({.stages = mobilenet_v2_stages()}, torchvision_mobile_names, in_channels, seed) {}

  std::string registry_name() const override { return "mobilenet_v2"; }
  std::vector<EncoderStage> stages() const override { return stages_by(torchvision_part); }
  std::vector<WeightLayout> weight_layouts() const override {
    return {layout("torchvision", torchvision_mobile_names, {"classifier."}), layout("timm", timm_mobile_names, {"classifier."})};
  }
};

}  // namespace

const OptionTable<MobileNetV2Options>& MobileNetV2Options::table() {
  static const auto table = OptionTable<MobileNetV2Options>().include(BackboneOptions::table());
  return table;
}

std::shared_ptr<Encoder> make_mobilenet_v2(const MobileNetV2Options& options, int64_t in_channels, uint64_t seed) {
  MobileNetV2Options::table().verify(options, "encoder 'mobilenet_v2'");
  if (in_channels < 1) throw usage_error("encoder 'mobilenet_v2': images of {} channels; it needs at least 1", in_channels);
  return std::make_shared<MobileNetV2>(in_channels, seed);
}

std::optional<Config> mobilenet_v2_section(const WeightShapes& shapes) {
  const bool torchvisions = shapes.contains("features.0.0.weight") && shapes.contains("features.1.conv.0.0.weight") &&
                            shapes.contains("features.18.0.weight") && !shapes.contains("features.19.0.weight");
  if (!torchvisions && !has_timm_blocks(shapes, mobilenet_v2_stages())) return std::nullopt;
  return Config::map({{"name", Config::string("mobilenet_v2")}});
}

}  // namespace debias
