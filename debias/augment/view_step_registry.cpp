#include "debias/augment/view_pipeline.h"
#include "debias/augment/view_steps.h"

namespace debias {

const std::vector<ViewStepEntry>& view_step_registry() {
  static const std::vector<ViewStepEntry> registry = {
      random_resized_crop_entry(),
      random_horizontal_flip_entry(),
      color_jitter_entry(),
      random_grayscale_entry(),
      gaussian_blur_entry(),
      random_crop_entry(),
      resize_entry(),
      center_crop_entry(),
      random_rotation_entry(),
      rgb_to_lab_entry(),
      rgb_to_ycbcr_entry(),
  };
  return registry;
}

namespace {

using Steps = std::vector<ViewStepEntry>;

RandomResizedCropOptions crop_to(int side) { return {.size = {side, 0}}; }
RandomResizedCropOptions large_crop_to(int side) { return {.size = {side, 0}, .scale = {0.2, 1.0}}; }

ViewStepEntry padded_crop_to(int side) { return random_crop_entry(RandomCropOptions{.size = {side, 0}, .padding = 4}); }

ViewStepEntry simclr_jitter() {
  const Spread factor = Spread::number(0.4);
  return color_jitter_entry(
      ColorJitterOptions{.brightness = factor, .contrast = factor, .saturation = factor, .hue = Spread::number(0.1), .p = 0.8});
}

Steps crop_flip_colours(const RandomResizedCropOptions& crop) {
  return {random_resized_crop_entry(crop), random_horizontal_flip_entry(), simclr_jitter(),
          random_grayscale_entry(RandomGrayscaleOptions{.p = 0.2})};
}

Steps simclr(int side, int kernel) {
  Steps steps = crop_flip_colours(crop_to(side));
  steps.push_back(gaussian_blur_entry(GaussianBlurOptions{.kernel_size = kernel, .p = 0.5}));
  return steps;
}

Steps cmc(const ViewStepEntry& colours) { return {random_resized_crop_entry(large_crop_to(224)), random_horizontal_flip_entry(), colours}; }

}  // namespace

const std::vector<ViewPresetEntry>& view_preset_registry() {
  static const std::vector<ViewPresetEntry> registry = {
      {"none", {}, "the unchanged image", {}, {}},
      {"eval0", {"eval"}, "evaluation on the unchanged image, at its own size", {}, {}},
      {"sim32", {}, "SimCLR views of 32 pixels with blur (DCL, HCL, BCL)", {}, simclr(32, 3)},
      {"sim224", {}, "SimCLR views of 224 pixels with blur", {}, simclr(224, 23)},
      {"sup32", {}, "SupCon views of 32 pixels, no blur", {}, crop_flip_colours(large_crop_to(32))},
      {"sup224", {}, "SupCon views of 224 pixels, no blur", {}, crop_flip_colours(large_crop_to(224))},
      {"lin32",
       {},
       "crop and flip at 32 pixels, for linear probes and cross-entropy",
       {},
       {random_resized_crop_entry(large_crop_to(32)), random_horizontal_flip_entry()}},
      {"crop4",
       {},
       "random 32-pixel crop after padding by 4, and flip (Corrupted CIFAR-10)",
       {},
       {padded_crop_to(32), random_horizontal_flip_entry()}},
      {"mn0", {}, "Biased-MNIST without augmentation", {}, {}},
      {"mn_bc",
       {},
       "Biased-MNIST with rotation and colour jitter (BiasCon, SoftCon)",
       {},
       {random_rotation_entry(RandomRotationOptions{.degrees = Spread::number(20)}), simclr_jitter()}},
      {"bf",
       {},
       "bFFHQ: 224 x 224, padded crop, flip",
       {},
       {resize_entry(ResizeOptions{.size = {224, 224}}), padded_crop_to(224), random_horizontal_flip_entry()}},
      {"in_std",
       {},
       "ImageNet's usual training views of 224 pixels",
       {},
       {random_resized_crop_entry(crop_to(224)), random_horizontal_flip_entry()}},
      {"in100",
       {},
       "ImageNet-100: short side 256, then crop to 224 pixels and flip",
       {},
       {resize_entry(ResizeOptions{.size = {256, 0}}), random_resized_crop_entry(crop_to(224)), random_horizontal_flip_entry()}},
      {"cmc", {"cmc_lab"}, "L*a*b* views of 224 pixels (contrastive multiview coding): L, then a and b", {}, cmc(rgb_to_lab_entry())},
      {"cmc_ycbcr", {}, "YCbCr views of 224 pixels (contrastive multiview coding): Y, then Cb and Cr", {}, cmc(rgb_to_ycbcr_entry())},
  };
  return registry;
}

}  // namespace debias
