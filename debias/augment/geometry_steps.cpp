#include "debias/augment/step_options.h"
#include "debias/augment/view_steps.h"
#include "debias/image/geometry.h"

namespace debias {
namespace {

class RandomHorizontalFlipOptions {
 public:
  DEBIAS_OPTION(RandomHorizontalFlipOptions, double, p, 0.5)
  static const OptionTable<RandomHorizontalFlipOptions>& table() {
    static const auto table =
        OptionTable<RandomHorizontalFlipOptions>().add("p", &RandomHorizontalFlipOptions::p_, Range::closed(0, 1), "probability");
    return table;
  }
};

class RandomHorizontalFlip : public StepWithOptions<RandomHorizontalFlipOptions> {
 public:
  using StepWithOptions::StepWithOptions;
  bool is_random() const override { return options_.p() > 0 && options_.p() < 1; }
  StepPlan plan(int, int, const RngKey& key) const override { return {.acts = Random(key).uniform() < options_.p()}; }
  void act(ViewFrame& frame, const StepPlan&) const override { mirror_horizontally(frame); }
};

class RandomRotation : public StepWithOptions<RandomRotationOptions> {
 public:
  using StepWithOptions::StepWithOptions;
  bool is_random() const override { return true; }
  StepPlan plan(int, int, const RngKey& key) const override {
    const Spread& degrees = options_.degrees();
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

}  // namespace debias
