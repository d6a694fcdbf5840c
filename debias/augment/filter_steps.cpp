#include "debias/augment/step_options.h"
#include "debias/augment/view_steps.h"
#include "debias/image/blur.h"
#include "debias/image/colour.h"

namespace debias {
namespace {

class RandomGrayscale : public StepWithOptions<RandomGrayscaleOptions> {
 public:
  using StepWithOptions::StepWithOptions;
  bool is_random() const override { return options_.p() > 0 && options_.p() < 1; }
  StepPlan plan(int, int, const RngKey& key) const override { return {.acts = Random(key).uniform() < options_.p()}; }
  void act(ViewFrame& frame, const StepPlan&) const override { make_grayscale(frame); }
};

class GaussianBlur : public StepWithOptions<GaussianBlurOptions> {
 public:
  using StepWithOptions::StepWithOptions;
  bool is_random() const override { return true; }
  StepPlan plan(int, int, const RngKey& key) const override {
    Random random(key);
    if (!(random.uniform() < options_.p())) return {.acts = false};
    return {.numbers = {random.uniform(options_.sigma().low, options_.sigma().high)}};
  }
  void act(ViewFrame& frame, const StepPlan& plan) const override {
    gaussian_blur(frame, static_cast<int>(options_.kernel_size()), plan.numbers.front());
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
