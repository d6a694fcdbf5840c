// Registry entries of the view steps, the options that code gives them, and the base class of steps with an options table.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "debias/augment/view_pipeline.h"

namespace debias {

class RandomResizedCropOptions {
 public:
  DEBIAS_OPTION(RandomResizedCropOptions, Extent, size, {32, 0})
  DEBIAS_OPTION(RandomResizedCropOptions, Interval, scale, {0.08, 1.0})
  DEBIAS_OPTION(RandomResizedCropOptions, Interval, ratio, {3.0 / 4.0, 4.0 / 3.0})
  static const OptionTable<RandomResizedCropOptions>& table() {
    static const auto table =
        OptionTable<RandomResizedCropOptions>()
            .add("size", &RandomResizedCropOptions::size_, Range::closed(1, kLargestExtent),
                 "size of the view in pixels, square or [height, width]")
            .add("scale", &RandomResizedCropOptions::scale_, Range::above(0), "area of the crop as a share of the image's")
            .add("ratio", &RandomResizedCropOptions::ratio_, Range::closed(1e-3, 1e3), "width over height of the crop");
    return table;
  }
};

class ColorJitterOptions {
 public:
  DEBIAS_OPTION(ColorJitterOptions, Spread, brightness, {})
  DEBIAS_OPTION(ColorJitterOptions, Spread, contrast, {})
  DEBIAS_OPTION(ColorJitterOptions, Spread, saturation, {})
  DEBIAS_OPTION(ColorJitterOptions, Spread, hue, {})
  DEBIAS_OPTION(ColorJitterOptions, double, p, 1.0)
  static const OptionTable<ColorJitterOptions>& table() {
    static const auto table =
        OptionTable<ColorJitterOptions>()
            .add("brightness", &ColorJitterOptions::brightness_, Range::at_least(0),
                 "brightness factor; x stands for [max(0, 1 - x), 1 + x]")
            .add("contrast", &ColorJitterOptions::contrast_, Range::at_least(0), "like brightness, for this property")
            .add("saturation", &ColorJitterOptions::saturation_, Range::at_least(0), "like brightness, for this property")
            .add("hue", &ColorJitterOptions::hue_, Range::closed(-0.5, 0.5), "hue shift in turns; x stands for [-x, x]")
            .add("p", &ColorJitterOptions::p_, Range::closed(0, 1), "probability that the step acts (RandomApply)");
    return table;
  }
};

class RandomGrayscaleOptions {
 public:
  DEBIAS_OPTION(RandomGrayscaleOptions, double, p, 0.1)
  static const OptionTable<RandomGrayscaleOptions>& table() {
    static const auto table =
        OptionTable<RandomGrayscaleOptions>().add("p", &RandomGrayscaleOptions::p_, Range::closed(0, 1), "probability");
    return table;
  }
};

class GaussianBlurOptions {
 public:
  DEBIAS_OPTION(GaussianBlurOptions, int64_t, kernel_size, 3)
  DEBIAS_OPTION(GaussianBlurOptions, Spread, sigma, Spread::between(0.1, 2.0))
  DEBIAS_OPTION(GaussianBlurOptions, double, p, 1.0)
  static const OptionTable<GaussianBlurOptions>& table() {
    static const auto table =
        OptionTable<GaussianBlurOptions>()
            .add("kernel_size", &GaussianBlurOptions::kernel_size_, Range::closed(1, 999), "side of the kernel in pixels, odd")
            .add("sigma", &GaussianBlurOptions::sigma_, Range::closed(1e-3, 1e3),
                 "standard deviation in pixels; drawn uniformly from a pair")
            .add("p", &GaussianBlurOptions::p_, Range::closed(0, 1), "probability that the step acts")
            .check([](const GaussianBlurOptions& options, const std::string& what) {
              if (options.kernel_size() % 2 == 1) return;
              throw usage_error("{}: kernel_size: {} is even; give an odd number such as {}", what, options.kernel_size(),
                                options.kernel_size() + 1);
            });
    return table;
  }
};

class RandomCropOptions {
 public:
  DEBIAS_OPTION(RandomCropOptions, Extent, size, {32, 0})
  DEBIAS_OPTION(RandomCropOptions, int64_t, padding, 0)
  static const OptionTable<RandomCropOptions>& table() {
    static const auto table =
        OptionTable<RandomCropOptions>()
            .add("size", &RandomCropOptions::size_, Range::closed(1, kLargestExtent),
                 "size of the view in pixels, square or [height, width]")
            .add("padding", &RandomCropOptions::padding_, Range::closed(0, kLargestExtent), "black pixels added on every side first");
    return table;
  }
};

class ResizeOptions {
 public:
  DEBIAS_OPTION(ResizeOptions, Extent, size, {32, 0})
  static const OptionTable<ResizeOptions>& table() {
    static const auto table = OptionTable<ResizeOptions>().add("size", &ResizeOptions::size_, Range::closed(1, kLargestExtent),
                                                               "length of the short side in pixels, or [height, width]");
    return table;
  }
};

class CenterCropOptions {
 public:
  DEBIAS_OPTION(CenterCropOptions, Extent, size, {32, 0})
  static const OptionTable<CenterCropOptions>& table() {
    static const auto table = OptionTable<CenterCropOptions>().add("size", &CenterCropOptions::size_, Range::closed(1, kLargestExtent),
                                                                   "size of the view in pixels, square or [height, width]");
    return table;
  }
};

class RandomRotationOptions {
 public:
  DEBIAS_OPTION(RandomRotationOptions, Spread, degrees, Spread::number(20))
  static const OptionTable<RandomRotationOptions>& table() {
    static const auto table = OptionTable<RandomRotationOptions>().add(
        "degrees", &RandomRotationOptions::degrees_, Range::closed(-360, 360), "angle in degrees, counter-clockwise; d stands for [-d, d]");
    return table;
  }
};

// The final step, which no list of steps has.
class NormalizeOptions {
 public:
  DEBIAS_OPTION(NormalizeOptions, std::vector<double>, mean, {})
  DEBIAS_OPTION(NormalizeOptions, std::vector<double>, std, {})
  static const OptionTable<NormalizeOptions>& table() {
    static const auto table = OptionTable<NormalizeOptions>()
                                  .add("mean", &NormalizeOptions::mean_, Range::closed(-1e6, 1e6), "per channel, of values in [0, 1]")
                                  .add("std", &NormalizeOptions::std_, Range::closed(1e-6, 1e6), "per channel, of values in [0, 1]");
    return table;
  }
};

// The steps, with `options` where a recipe gives none.
ViewStepEntry random_resized_crop_entry(const RandomResizedCropOptions& options = {});
ViewStepEntry random_horizontal_flip_entry();
ViewStepEntry color_jitter_entry(const ColorJitterOptions& options = {});
ViewStepEntry random_grayscale_entry(const RandomGrayscaleOptions& options = {});
ViewStepEntry gaussian_blur_entry(const GaussianBlurOptions& options = {});
ViewStepEntry random_crop_entry(const RandomCropOptions& options = {});
ViewStepEntry resize_entry(const ResizeOptions& options = {});
ViewStepEntry center_crop_entry(const CenterCropOptions& options = {});
ViewStepEntry random_rotation_entry(const RandomRotationOptions& options = {});
ViewStepEntry rgb_to_lab_entry();
ViewStepEntry rgb_to_ycbcr_entry();

template <class Options>
class StepWithOptions : public ViewStep {
 public:
  StepWithOptions(std::string name, Options options) : options_(std::move(options)), name_(std::move(name)) {}
  std::string name() const override { return name_; }
  Config config() const override { return Options::table().write(options_); }

 protected:
  const Options options_;

 private:
  const std::string name_;
};

template <class Step, class Options>
ViewStepEntry step_entry(std::string name, std::vector<std::string> aliases, std::string summary, const Options& defaults = {}) {
  auto make = [name, defaults](const Config& options) -> std::unique_ptr<ViewStep> {
    return std::make_unique<Step>(name, Options::table().read(options, "view step '" + name + "'", {}, defaults));
  };
  return {std::move(name), std::move(aliases), std::move(summary), Options::table().specs(), std::move(make)};
}

}  // namespace debias
