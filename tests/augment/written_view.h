// A view of one image, from its key to its values.
#pragma once

#include "debias/augment/view_pipeline.h"

namespace debias {

inline void write_view(const ViewPipeline& views, const Image& image, const RngKey& key, const ViewTarget& target) {
  ViewPlan plan;
  views.draw(image.height, image.width, key, plan);
  ViewFrame frame;
  views.write(whole(image), plan, frame, target);
}

}  // namespace debias
