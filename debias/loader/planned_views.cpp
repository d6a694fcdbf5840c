#include "debias/loader/planned_views.h"

namespace debias {

void PlannedViews::start(const RngKey& key, int64_t first, int64_t last) {
  key_ = key;
  first_ = first;
  count_ = last - first;
  height_ = width_ = 0;
  if (std::ssize(plans_) < count_) plans_.resize(count_);
}

std::span<const ViewPlan> PlannedViews::of(const ViewPipeline& pipeline, int height, int width) {
  if (height != height_ || width != width_) {
    for (int64_t i = 0; i < count_; ++i) {
      key_.view = static_cast<uint16_t>(first_ + i);
      pipeline.draw(height, width, key_, plans_[i]);
    }
    height_ = height;
    width_ = width;
  }
  return {plans_.data(), static_cast<size_t>(count_)};
}

}  // namespace debias
