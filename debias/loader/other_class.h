// Uniform draws of an image of another class, for false-positive views.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "debias/core/philox.h"
#include "debias/data/dataset.h"

namespace debias {

// For an image with a label: every image with a different label or none is equally likely. For an image without: every other image.
class OtherClassDraw {
 public:
  // A usage error when some image has no image of another class.
  explicit OtherClassDraw(const Dataset& dataset);
  int64_t draw(int64_t index, Random& random) const;

 private:
  std::pair<int64_t, int64_t> excluded(int64_t index) const;  // positions in order_ that are not eligible

  std::vector<int64_t> labels_;
  std::vector<int64_t> order_;     // indices grouped by label
  std::vector<int64_t> position_;  // of each index in order_
  std::unordered_map<int64_t, std::pair<int64_t, int64_t>> blocks_;
};

}  // namespace debias
