// Registry entries of the view steps, the options that code gives them, and the base class of steps with an options table.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "debias/augment/step_options.h"
#include "debias/augment/view_pipeline.h"
#include "debias/core/philox.h"
#include "debias/image/image.h"

namespace debias {

struct RandomResizedCropOptions {
  Extent size = {32, 0};
  Interval scale = {0.08, 1.0};
  Interval ratio = {3.0 / 4.0, 4.0 / 3.0};
  void describe(OptionVisitor& o) {
    o("size", size, Range::closed(1, kLargestExtent), "size of the view in pixels, square or [height, width]");
    o("scale", scale, Range::above(0), "area of the crop as a share of the image's");
    o("ratio", ratio, Range::closed(1e-3, 1e3), "width over height of the crop");
  }
};

struct ColorJitterOptions {
  Spread brightness = {};
  Spread contrast = {};
  Spread saturation = {};
  Spread hue = {};
  double p = 1.0;
  void describe(OptionVisitor& o) {
    o("brightness", brightness, Range::at_least(0), "brightness factor; x stands for [max(0, 1 - x), 1 + x]");
    o("contrast", contrast, Range::at_least(0), "like brightness, for this property");
    o("saturation", saturation, Range::at_least(0), "like brightness, for this property");
    o("hue", hue, Range::closed(-0.5, 0.5), "hue shift in turns; x stands for [-x, x]");
    o("p", p, Range::closed(0, 1), "probability that the step acts (RandomApply)");
  }
};

struct RandomGrayscaleOptions {
  double p = 0.1;
  void describe(OptionVisitor& o) { o("p", p, Range::closed(0, 1), "probability"); }
};

struct GaussianBlurOptions {
  int64_t kernel_size = 3;
  Spread sigma = Spread::between(0.1, 2.0);
  double p = 1.0;
  void describe(OptionVisitor& o) {
    o("kernel_size", kernel_size, Range::closed(1, 999), "side of the kernel in pixels, odd");
    o("sigma", sigma, Range::closed(1e-3, 1e3), "standard deviation in pixels; drawn uniformly from a pair");
    o("p", p, Range::closed(0, 1), "probability that the step acts");
    o.check([this](const std::string& what) {
      if (kernel_size % 2 == 1) return;
      throw usage_error("{}: kernel_size: {} is even; give an odd number such as {}", what, kernel_size, kernel_size + 1);
    });
  }
};

struct RandomCropOptions {
  Extent size = {32, 0};
  int64_t padding = 0;
  void describe(OptionVisitor& o) {
    o("size", size, Range::closed(1, kLargestExtent), "size of the view in pixels, square or [height, width]");
    o("padding", padding, Range::closed(0, kLargestExtent), "black pixels added on every side first");
  }
};

struct ResizeOptions {
  Extent size = {32, 0};
  void describe(OptionVisitor& o) {
    o("size", size, Range::closed(1, kLargestExtent), "length of the short side in pixels, or [height, width]");
  }
};

struct CenterCropOptions {
  Extent size = {32, 0};
  void describe(OptionVisitor& o) {
    o("size", size, Range::closed(1, kLargestExtent), "size of the view in pixels, square or [height, width]");
  }
};

struct RandomRotationOptions {
  Spread degrees = Spread::number(20);
  void describe(OptionVisitor& o) {
    o("degrees", degrees, Range::closed(-360, 360), "angle in degrees, counter-clockwise; d stands for [-d, d]");
  }
};

// The final step, which no list of steps has.
struct NormalizeOptions {
  std::vector<double> mean = {};
  std::vector<double> std = {};
  void describe(OptionVisitor& o) {
    o("mean", mean, Range::closed(-1e6, 1e6), "per channel, of values in [0, 1]");
    o("std", std, Range::closed(1e-6, 1e6), "per channel, of values in [0, 1]");
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
  Config config() const override { return config_of(options_); }

 protected:
  const Options options_;

 private:
  const std::string name_;
};

template <class Step, class Options>
ViewStepEntry step_entry(std::string name, std::vector<std::string> aliases, std::string summary, const Options& defaults = {}) {
  auto make = [name, defaults](const Config& options) -> std::unique_ptr<ViewStep> {
    return std::make_unique<Step>(name, options_from<Options>(options, "view step '" + name + "'", {}, defaults));
  };
  return {std::move(name), std::move(aliases), std::move(summary), option_specs<Options>(), std::move(make)};
}

// The box of torchvision's RandomResizedCrop.

// Up to ten tries of area H W U(scale) and log-uniform aspect w/h in `ratio`, sides rounded half to even; then the largest centred box
// whose aspect is in `ratio`. Source: torchvision.transforms.RandomResizedCrop.get_params.
Box random_resized_box(int image_height, int image_width, const Interval& scale, const Interval& ratio, Random& random);

// The draws of torchvision's ColorJitter.
enum class ColorAdjustment { kBrightness, kContrast, kSaturation, kHue };

struct JitterDraw {
  std::array<ColorAdjustment, 4> order;  // uniformly random
  double brightness = 1, contrast = 1, saturation = 1, hue = 0;
};

// Factors uniform in [max(0, 1 - x), 1 + x] for a number x, hue in [-x, x] turns; in [low, high] for a pair.
JitterDraw draw_jitter(const Spread& brightness, const Spread& contrast, const Spread& saturation, const Spread& hue, Random& random);

}  // namespace debias
