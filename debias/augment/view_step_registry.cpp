#include "debias/augment/view_pipeline.h"
#include "debias/augment/view_steps.h"

namespace debias {

const std::vector<ViewStepEntry>& view_step_registry() {
  static const std::vector<ViewStepEntry> registry = {
      random_resized_crop_entry(),
      random_horizontal_flip_entry(),
      color_jitter_entry(),
      random_grayscale_entry(),
      gaussian_blur_entry(),
      random_crop_entry(),
      resize_entry(),
      center_crop_entry(),
      random_rotation_entry(),
      rgb_to_lab_entry(),
      rgb_to_ycbcr_entry(),
  };
  return registry;
}

}  // namespace debias
