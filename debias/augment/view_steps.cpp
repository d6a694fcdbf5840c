#include "debias/augment/view_steps.h"

#include <algorithm>
#include <cmath>

#include "debias/core/error.h"
#include "debias/image/blur.h"
#include "debias/image/colour.h"
#include "debias/image/geometry.h"

namespace debias {
namespace {

std::pair<int, int> sides(const Extent& size) { return {size.height, size.square() ? size.height : size.width}; }

class RandomCrop : public StepWithOptions<RandomCropOptions> {
 public:
  using StepWithOptions::StepWithOptions;
  std::pair<int, int> output_size(int, int) const override { return sides(options_.size); }
  bool is_random() const override { return true; }
  StepPlan plan(int image_height, int image_width, const RngKey& key) const override {
    const auto [height, width] = sides(options_.size);
    const int padding = static_cast<int>(options_.padding);
    const int spare_rows = image_height + 2 * padding - height, spare_columns = image_width + 2 * padding - width;
    if (spare_rows < 0 || spare_columns < 0) {
      throw usage_error(
          "random_crop: a crop of {} x {} does not fit in an image of {} x {} with padding {}; give a smaller size or more padding", height,
          width, image_height, image_width, padding);
    }
    Random random(key);
    const int top = static_cast<int>(random.below(spare_rows + 1));
    const int left = static_cast<int>(random.below(spare_columns + 1));
    return {.box = {top - padding, left - padding, height, width}};
  }
  void act(ViewFrame& frame, const StepPlan& plan) const override { padded_crop(frame, plan.box); }
};

class Resize : public StepWithOptions<ResizeOptions> {
 public:
  using StepWithOptions::StepWithOptions;
  std::optional<Extent> resized() const override { return options_.size; }
  std::pair<int, int> output_size(int height, int width) const override {
    const Extent& size = options_.size;
    if (!size.square()) return {size.height, size.width};
    const Box box = taken(height, width);
    const int64_t longer = int64_t{size.height} * std::max(box.height, box.width) / std::min(box.height, box.width);
    return height < width ? std::pair(size.height, static_cast<int>(longer)) : std::pair(static_cast<int>(longer), size.height);
  }
  void act(ViewFrame& frame, const StepPlan&) const override {
    const auto [height, width] = output_size(frame.height(), frame.width());
    const Box box = taken(frame.height(), frame.width());
    if (box.height == frame.height() && box.width == frame.width()) return resize(frame, height, width);
    resized_crop(frame, box, height, width);
  }

 private:
  // Of an image so thin that its result would be longer than any view the middle, as far as that goes.
  Box taken(int height, int width) const {
    if (!options_.size.square()) return {0, 0, height, width};
    const int64_t most = int64_t{std::min(height, width)} * kLargestExtent / options_.size.height;
    const int rows = static_cast<int>(std::min<int64_t>(height, most)), columns = static_cast<int>(std::min<int64_t>(width, most));
    return {(height - rows) / 2, (width - columns) / 2, rows, columns};
  }
};

class CenterCrop : public StepWithOptions<CenterCropOptions> {
 public:
  using StepWithOptions::StepWithOptions;
  std::pair<int, int> output_size(int, int) const override { return sides(options_.size); }
  void act(ViewFrame& frame, const StepPlan&) const override {
    const auto [height, width] = sides(options_.size);
    padded_crop(frame, center_box(frame.height(), frame.width(), height, width));
  }
};

}  // namespace

ViewStepEntry random_crop_entry(const RandomCropOptions& options) {
  return step_entry<RandomCrop, RandomCropOptions>("random_crop", {"crop"}, "crops a random part of fixed size, after padding with black",
                                                   options);
}

ViewStepEntry resize_entry(const ResizeOptions& options) {
  return step_entry<Resize, ResizeOptions>("resize", {}, "antialiased bilinear resize", options);
}

ViewStepEntry center_crop_entry(const CenterCropOptions& options) {
  return step_entry<CenterCrop, CenterCropOptions>("center_crop", {"centre_crop"},
                                                   "crops the centre of the image; pads a smaller image with black", options);
}

namespace {

int rounded_to_even(double value) { return static_cast<int>(std::nearbyint(value)); }

class RandomResizedCrop : public StepWithOptions<RandomResizedCropOptions> {
 public:
  using StepWithOptions::StepWithOptions;
  std::pair<int, int> output_size(int, int) const override { return {height(), width()}; }
  bool is_random() const override { return true; }
  StepPlan plan(int image_height, int image_width, const RngKey& key) const override {
    Random random(key);
    return {.reads_the_box = true, .box = random_resized_box(image_height, image_width, options_.scale, options_.ratio, random)};
  }
  void act(ViewFrame& frame, const StepPlan& plan) const override { resized_crop(frame, plan.box, height(), width()); }

 private:
  int height() const { return options_.size.height; }
  int width() const { return options_.size.square() ? height() : options_.size.width; }
};

}  // namespace

Box random_resized_box(int image_height, int image_width, const Interval& scale, const Interval& ratio, Random& random) {
  const double area = static_cast<double>(image_height) * image_width;
  const double low = std::log(ratio.low), high = std::log(ratio.high);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double target = area * random.uniform(scale.low, scale.high);
    const double aspect = std::exp(random.uniform(low, high));
    const double width = std::nearbyint(std::sqrt(target * aspect)), height = std::nearbyint(std::sqrt(target / aspect));
    if (width < 1 || height < 1 || width > image_width || height > image_height) continue;
    Box box{0, 0, static_cast<int>(height), static_cast<int>(width)};
    box.top = static_cast<int>(random.below(image_height - box.height + 1));
    box.left = static_cast<int>(random.below(image_width - box.width + 1));
    return box;
  }
  Box box{0, 0, image_height, image_width};
  const double aspect = static_cast<double>(image_width) / image_height;
  if (aspect < ratio.low) box.height = std::max(1, rounded_to_even(image_width / ratio.low));
  if (aspect > ratio.high) box.width = std::max(1, rounded_to_even(image_height * ratio.high));
  box.top = (image_height - box.height) / 2;
  box.left = (image_width - box.width) / 2;
  return box;
}

ViewStepEntry random_resized_crop_entry(const RandomResizedCropOptions& options) {
  return step_entry<RandomResizedCrop, RandomResizedCropOptions>(
      "random_resized_crop", {"resized_crop", "rrc"}, "crops a random part of the image and resizes it (antialiased bilinear)", options);
}

namespace {

struct RandomHorizontalFlipOptions {
  double p = 0.5;
  void describe(OptionVisitor& o) { o("p", p, Range::closed(0, 1), "probability"); }
};

class RandomHorizontalFlip : public StepWithOptions<RandomHorizontalFlipOptions> {
 public:
  using StepWithOptions::StepWithOptions;
  bool is_random() const override { return options_.p > 0 && options_.p < 1; }
  StepPlan plan(int, int, const RngKey& key) const override { return {.acts = Random(key).uniform() < options_.p}; }
  void act(ViewFrame& frame, const StepPlan&) const override { mirror_horizontally(frame); }
};

class RandomRotation : public StepWithOptions<RandomRotationOptions> {
 public:
  using StepWithOptions::StepWithOptions;
  bool is_random() const override { return true; }
  StepPlan plan(int, int, const RngKey& key) const override {
    const Spread& degrees = options_.degrees;
    return {.numbers = {Random(key).uniform(degrees.pair ? degrees.low : -degrees.high, degrees.high)}};
  }
  void act(ViewFrame& frame, const StepPlan& plan) const override { rotate(frame, plan.numbers.front()); }
};

}  // namespace

ViewStepEntry random_horizontal_flip_entry() {
  return step_entry<RandomHorizontalFlip, RandomHorizontalFlipOptions>("random_horizontal_flip", {"horizontal_flip", "hflip"},
                                                                       "mirrors left and right");
}

ViewStepEntry random_rotation_entry(const RandomRotationOptions& options) {
  return step_entry<RandomRotation, RandomRotationOptions>(
      "random_rotation", {"rotation", "rotate"}, "rotates about the centre, with nearest-pixel sampling and black outside", options);
}

namespace {

// From sRGB to coordinates whose range the normalisation follows.
template <void (*kConvert)(ViewFrame&), const std::array<double, 3>& kMean, const std::array<double, 3>& kStd>
class ColourStep : public StepWithOptions<NoOptions> {
 public:
  using StepWithOptions::StepWithOptions;
  std::optional<Normalisation> normalisation() const override {
    return Normalisation{{kMean.begin(), kMean.end()}, {kStd.begin(), kStd.end()}};
  }
  void act(ViewFrame& frame, const StepPlan&) const override { kConvert(frame); }
};

}  // namespace

ViewStepEntry rgb_to_lab_entry() {
  return step_entry<ColourStep<convert_to_lab, kLabMean, kLabStd>, NoOptions>(
      "rgb_to_lab", {}, "converts sRGB to L*a*b*, normalised by the range of each coordinate");
}

ViewStepEntry rgb_to_ycbcr_entry() {
  return step_entry<ColourStep<convert_to_ycbcr, kYcbcrMean, kYcbcrStd>, NoOptions>(
      "rgb_to_ycbcr", {}, "converts sRGB to YCbCr (BT.601), normalised by the range of each coordinate");
}

namespace {

double draw_factor(const Spread& spread, Random& random) {
  return spread.pair ? random.uniform(spread.low, spread.high) : random.uniform(std::max(0.0, 1 - spread.high), 1 + spread.high);
}

class ColorJitter : public StepWithOptions<ColorJitterOptions> {
 public:
  using StepWithOptions::StepWithOptions;
  bool is_random() const override { return true; }
  StepPlan plan(int, int, const RngKey& key) const override {
    Random random(key);
    if (!(random.uniform() < options_.p)) return {.acts = false};
    const JitterDraw draw = draw_jitter(options_.brightness, options_.contrast, options_.saturation, options_.hue, random);
    StepPlan plan{.numbers = {draw.brightness, draw.contrast, draw.saturation, draw.hue}};
    for (size_t i = 0; i < draw.order.size(); ++i) plan.order[i] = static_cast<uint8_t>(draw.order[i]);
    return plan;
  }
  void act(ViewFrame& frame, const StepPlan& plan) const override {
    for (const uint8_t number : plan.order) {
      const double factor = plan.numbers[number];
      switch (static_cast<ColorAdjustment>(number)) {
        case ColorAdjustment::kBrightness:
          adjust_brightness(frame, factor);
          break;
        case ColorAdjustment::kContrast:
          adjust_contrast(frame, factor);
          break;
        case ColorAdjustment::kSaturation:
          adjust_saturation(frame, factor);
          break;
        case ColorAdjustment::kHue:
          if (options_.hue.pair || options_.hue.high > 0) adjust_hue(frame, factor);  // the way through HSV is not exact
          break;
      }
    }
  }
};

}  // namespace

JitterDraw draw_jitter(const Spread& brightness, const Spread& contrast, const Spread& saturation, const Spread& hue, Random& random) {
  JitterDraw draw{{ColorAdjustment::kBrightness, ColorAdjustment::kContrast, ColorAdjustment::kSaturation, ColorAdjustment::kHue}};
  for (int i = 3; i > 0; --i) std::swap(draw.order[i], draw.order[random.below(i + 1)]);
  draw.brightness = draw_factor(brightness, random);
  draw.contrast = draw_factor(contrast, random);
  draw.saturation = draw_factor(saturation, random);
  draw.hue = random.uniform(hue.pair ? hue.low : -hue.high, hue.high);
  return draw;
}

ViewStepEntry color_jitter_entry(const ColorJitterOptions& options) {
  return step_entry<ColorJitter, ColorJitterOptions>("color_jitter", {"colour_jitter", "jitter"},
                                                     "changes brightness, contrast, saturation and hue by random factors, in random order",
                                                     options);
}

namespace {

class RandomGrayscale : public StepWithOptions<RandomGrayscaleOptions> {
 public:
  using StepWithOptions::StepWithOptions;
  bool is_random() const override { return options_.p > 0 && options_.p < 1; }
  StepPlan plan(int, int, const RngKey& key) const override { return {.acts = Random(key).uniform() < options_.p}; }
  void act(ViewFrame& frame, const StepPlan&) const override { make_grayscale(frame); }
};

class GaussianBlur : public StepWithOptions<GaussianBlurOptions> {
 public:
  using StepWithOptions::StepWithOptions;
  bool is_random() const override { return true; }
  StepPlan plan(int, int, const RngKey& key) const override {
    Random random(key);
    if (!(random.uniform() < options_.p)) return {.acts = false};
    return {.numbers = {random.uniform(options_.sigma.low, options_.sigma.high)}};
  }
  void act(ViewFrame& frame, const StepPlan& plan) const override {
    gaussian_blur(frame, static_cast<int>(options_.kernel_size), plan.numbers.front());
  }
};

}  // namespace

ViewStepEntry random_grayscale_entry(const RandomGrayscaleOptions& options) {
  return step_entry<RandomGrayscale, RandomGrayscaleOptions>("random_grayscale", {"grayscale"}, "converts to grey: luma in all channels",
                                                             options);
}

ViewStepEntry gaussian_blur_entry(const GaussianBlurOptions& options) {
  return step_entry<GaussianBlur, GaussianBlurOptions>("gaussian_blur", {"blur"}, "Gaussian blur, borders mirrored", options);
}

}  // namespace debias
