#include "debias/augment/colour_steps.h"

#include <algorithm>
#include <utility>

#include "debias/augment/view_steps.h"
#include "debias/image/blur.h"
#include "debias/image/colour.h"

namespace debias {
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
