// Registry entries of the view steps, and the base class of steps with an options table.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "debias/augment/view_pipeline.h"

namespace debias {

ViewStepEntry random_resized_crop_entry();
ViewStepEntry random_horizontal_flip_entry();
ViewStepEntry color_jitter_entry();
ViewStepEntry random_grayscale_entry();
ViewStepEntry gaussian_blur_entry();
ViewStepEntry random_crop_entry();
ViewStepEntry resize_entry();
ViewStepEntry center_crop_entry();
ViewStepEntry random_rotation_entry();
ViewStepEntry rgb_to_lab_entry();
ViewStepEntry rgb_to_ycbcr_entry();

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

class NoOptions {
 public:
  static const OptionTable<NoOptions>& table() {
    static const OptionTable<NoOptions> table;
    return table;
  }
};

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
ViewStepEntry step_entry(std::string name, std::vector<std::string> aliases, std::string summary) {
  auto make = [name](const Config& options) -> std::unique_ptr<ViewStep> {
    return std::make_unique<Step>(name, Options::table().read(options, "view step '" + name + "'"));
  };
  return {std::move(name), std::move(aliases), std::move(summary), Options::table().specs(), std::move(make)};
}

}  // namespace debias
