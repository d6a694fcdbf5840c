#include <algorithm>

#include "debias/augment/step_options.h"
#include "debias/augment/view_steps.h"
#include "debias/core/error.h"
#include "debias/image/geometry.h"

namespace debias {
namespace {

std::pair<int, int> sides(const Extent& size) { return {size.height, size.square() ? size.height : size.width}; }

class RandomCrop : public StepWithOptions<RandomCropOptions> {
 public:
  using StepWithOptions::StepWithOptions;
  std::pair<int, int> output_size(int, int) const override { return sides(options_.size()); }
  bool is_random() const override { return true; }
  StepPlan plan(int image_height, int image_width, const RngKey& key) const override {
    const auto [height, width] = sides(options_.size());
    const int padding = static_cast<int>(options_.padding());
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
  std::optional<Extent> resized() const override { return options_.size(); }
  std::pair<int, int> output_size(int height, int width) const override {
    const Extent& size = options_.size();
    if (!size.square()) return {size.height, size.width};
    const int64_t longer = int64_t{size.height} * std::max(height, width) / std::min(height, width);
    if (longer > kLargestExtent) {
      throw usage_error("resize: size {} makes an image of {} x {} {} pixels long; give [height, width]", size.height, height, width,
                        longer);
    }
    return height < width ? std::pair(size.height, static_cast<int>(longer)) : std::pair(static_cast<int>(longer), size.height);
  }
  void act(ViewFrame& frame, const StepPlan&) const override {
    const auto [height, width] = output_size(frame.height(), frame.width());
    resize(frame, height, width);
  }
};

class CenterCrop : public StepWithOptions<CenterCropOptions> {
 public:
  using StepWithOptions::StepWithOptions;
  std::pair<int, int> output_size(int, int) const override { return sides(options_.size()); }
  void act(ViewFrame& frame, const StepPlan&) const override {
    const auto [height, width] = sides(options_.size());
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

}  // namespace debias
