#include "debias/augment/random_resized_crop.h"

#include <algorithm>
#include <cmath>

#include "debias/augment/view_steps.h"
#include "debias/image/geometry.h"

namespace debias {
namespace {

int rounded_to_even(double value) { return static_cast<int>(std::nearbyint(value)); }

class RandomResizedCrop : public StepWithOptions<RandomResizedCropOptions> {
 public:
  using StepWithOptions::StepWithOptions;
  std::pair<int, int> output_size(int, int) const override { return {height(), width()}; }
  bool is_random() const override { return true; }
  StepPlan plan(int image_height, int image_width, const RngKey& key) const override {
    Random random(key);
    return {.reads_the_box = true, .box = random_resized_box(image_height, image_width, options_.scale(), options_.ratio(), random)};
  }
  void act(ViewFrame& frame, const StepPlan& plan) const override { resized_crop(frame, plan.box, height(), width()); }

 private:
  int height() const { return options_.size().height; }
  int width() const { return options_.size().square() ? height() : options_.size().width; }
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

}  // namespace debias
