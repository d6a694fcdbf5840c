// A look at a data set before it is evaluated for the first time.
#pragma once

#include <memory>

#include "debias/evaluate/features.h"

namespace debias {

// Passes up to 32 of the images, spread evenly over the set, through the views, and two of them through the encoder: what would fail at
// the first batches of extract_features fails here, and is cheap.
void try_images(Encoder& encoder, std::shared_ptr<const Dataset> dataset, const ViewPipeline& eval_views, const ExtractOptions& options);

}  // namespace debias
