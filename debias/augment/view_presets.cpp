#include "debias/augment/view_pipeline.h"

namespace debias {
namespace {

using PresetStep = std::pair<std::string, Config>;

PresetStep step(const std::string& name, const std::string& options = "{}") { return {name, parse_yaml(options, "")}; }

const char* const kSimclrJitter = "{brightness: 0.4, contrast: 0.4, saturation: 0.4, hue: 0.1, p: 0.8}";

std::vector<PresetStep> simclr(const std::string& size, const std::string& kernel) {
  return {step("random_resized_crop", "{size: " + size + "}"), step("random_horizontal_flip"), step("color_jitter", kSimclrJitter),
          step("random_grayscale", "{p: 0.2}"), step("gaussian_blur", "{kernel_size: " + kernel + ", p: 0.5}")};
}

std::vector<PresetStep> supcon(const std::string& size) {
  return {step("random_resized_crop", "{size: " + size + ", scale: [0.2, 1.0]}"), step("random_horizontal_flip"),
          step("color_jitter", kSimclrJitter), step("random_grayscale", "{p: 0.2}")};
}

std::vector<PresetStep> cmc(const std::string& colours) {
  return {step("random_resized_crop", "{size: 224, scale: [0.2, 1.0]}"), step("random_horizontal_flip"), step(colours)};
}

}  // namespace

const std::vector<ViewPresetEntry>& view_preset_registry() {
  static const std::vector<ViewPresetEntry> registry = {
      {"none", {}, "the unchanged image", {}, {}},
      {"eval0", {"eval"}, "evaluation on the unchanged image, at its own size", {}, {}},
      {"sim32", {}, "SimCLR views of 32 pixels with blur (DCL, HCL, BCL)", {}, simclr("32", "3")},
      {"sim224", {}, "SimCLR views of 224 pixels with blur", {}, simclr("224", "23")},
      {"sup32", {}, "SupCon views of 32 pixels, no blur", {}, supcon("32")},
      {"sup224", {}, "SupCon views of 224 pixels, no blur", {}, supcon("224")},
      {"lin32",
       {},
       "crop and flip at 32 pixels, for linear probes and cross-entropy",
       {},
       {step("random_resized_crop", "{size: 32, scale: [0.2, 1.0]}"), step("random_horizontal_flip")}},
      {"crop4",
       {},
       "random 32-pixel crop after padding by 4, and flip (Corrupted CIFAR-10)",
       {},
       {step("random_crop", "{size: 32, padding: 4}"), step("random_horizontal_flip")}},
      {"mn0", {}, "Biased-MNIST without augmentation", {}, {}},
      {"mn_bc",
       {},
       "Biased-MNIST with rotation and colour jitter (BiasCon, SoftCon)",
       {},
       {step("random_rotation", "{degrees: 20}"), step("color_jitter", kSimclrJitter)}},
      {"bf",
       {},
       "bFFHQ: 224 x 224, padded crop, flip",
       {},
       {step("resize", "{size: [224, 224]}"), step("random_crop", "{size: 224, padding: 4}"), step("random_horizontal_flip")}},
      {"in_std",
       {},
       "ImageNet's usual training views of 224 pixels",
       {},
       {step("random_resized_crop", "{size: 224}"), step("random_horizontal_flip")}},
      {"in100",
       {},
       "ImageNet-100: short side 256, then crop to 224 pixels and flip",
       {},
       {step("resize", "{size: 256}"), step("random_resized_crop", "{size: 224}"), step("random_horizontal_flip")}},
      {"cmc", {"cmc_lab"}, "L*a*b* views of 224 pixels (contrastive multiview coding): L, then a and b", {}, cmc("rgb_to_lab")},
      {"cmc_ycbcr", {}, "YCbCr views of 224 pixels (contrastive multiview coding): Y, then Cb and Cr", {}, cmc("rgb_to_ycbcr")},
  };
  return registry;
}

}  // namespace debias
