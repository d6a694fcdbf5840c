// The views that evaluation sees, from a recipe's `views:` section.
//
// An image is judged as it is, at its own size, normalised as in training: encoders pool over whatever size comes in. A recipe whose
// images differ in size, or that judges resized ones, says so: `views: {preset: in_std, eval: {resize: {size: 256}, center_crop: {size:
// 224}}}`. `eval` is a preset's name, a section of its own (`preset` or `steps`), or step names with options, applied in the order written.
#pragma once

#include <string>
#include <vector>

#include "debias/augment/view_pipeline.h"
#include "debias/core/config.h"
#include "debias/data/dataset.h"

namespace debias {

// `trained_on` gives the normalisation where neither `views.eval` nor `views` has `normalize`. Usage errors as of ViewPipeline.
ViewPipeline eval_views(const Config& views, const DatasetInfo& trained_on);

// The recipe's own training views, without what they say to others (count, forward, noise, eval).
ViewPipeline training_views(const Config& views, const DatasetInfo& trained_on);

// Random crop of a share of [0.2, 1] of the area and a flip, at the size that eval_views() gives: the views of SupContrast's linear probe
// (main_linear.py). A usage error where that size is not known.
ViewPipeline crop_flip_views(const Config& views, const DatasetInfo& trained_on);

}  // namespace debias
