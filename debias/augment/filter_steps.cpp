#include "debias/augment/step_options.h"
#include "debias/augment/view_steps.h"
#include "debias/core/error.h"
#include "debias/image/blur.h"
#include "debias/image/colour.h"

namespace debias {
namespace {

class RandomGrayscaleOptions {
 public:
  DEBIAS_OPTION(RandomGrayscaleOptions, double, p, 0.1)
  static const OptionTable<RandomGrayscaleOptions>& table() {
    static const auto table =
        OptionTable<RandomGrayscaleOptions>().add("p", &RandomGrayscaleOptions::p_, Range::closed(0, 1), "probability");
    return table;
  }
};

class RandomGrayscale : public StepWithOptions<RandomGrayscaleOptions> {
 public:
  using StepWithOptions::StepWithOptions;
  bool is_random() const override { return options_.p() > 0 && options_.p() < 1; }
  StepPlan plan(int, int, const RngKey& key) const override { return {.acts = Random(key).uniform() < options_.p()}; }
  void act(ViewFrame& frame, const StepPlan&) const override { make_grayscale(frame); }
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

ViewStepEntry random_grayscale_entry() {
  return step_entry<RandomGrayscale, RandomGrayscaleOptions>("random_grayscale", {"grayscale"}, "converts to grey: luma in all channels");
}

ViewStepEntry gaussian_blur_entry() {
  return step_entry<GaussianBlur, GaussianBlurOptions>("gaussian_blur", {"blur"}, "Gaussian blur, borders mirrored");
}

}  // namespace debias
