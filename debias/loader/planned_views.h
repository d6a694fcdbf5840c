// The views of one row of a batch, drawn as soon as the size of its image is known.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "debias/augment/view_pipeline.h"

namespace debias {

class PlannedViews {
 public:
  // Views `first` to `last` - 1 of the row that `key` names; nothing is drawn yet.
  void start(const RngKey& key, int64_t first, int64_t last);

  // Their plans for an image of this size. Drawn once: a plan depends on nothing else.
  std::span<const ViewPlan> of(const ViewPipeline& pipeline, int height, int width);

 private:
  RngKey key_;
  int64_t first_ = 0, count_ = 0;
  int height_ = 0, width_ = 0;  // that the plans are for
  std::vector<ViewPlan> plans_;
};

}  // namespace debias
