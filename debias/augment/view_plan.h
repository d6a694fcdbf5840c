// All that is random about one view, drawn before a pixel is read.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "debias/image/image.h"

namespace debias {

// Plan of one step for one image. Each step defines which numbers it draws, and in which order.
struct StepPlan {
  bool acts = true;            // else the image stays as it is
  bool reads_the_box = false;  // and nothing else of the image
  Box box{};                   // may extend beyond the image, which is black there
  std::array<double, 4> numbers{};
  std::array<uint8_t, 4> order{};
};

// One for each step of a pipeline, for an image of this size. Its memory serves one view after another.
struct ViewPlan {
  int height = 0, width = 0;
  std::vector<StepPlan> steps;
};

}  // namespace debias
