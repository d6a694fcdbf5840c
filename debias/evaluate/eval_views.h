// The views that evaluation sees, from a recipe's `views:` section.
//
// `views: {preset: in_std, eval: {resize: {size: 256}, center_crop: {size: 224}}}` says them. Without them, they follow from the training
// views (default_eval_views).
#pragma once

#include "debias/augment/chosen.h"
#include "debias/augment/view_pipeline.h"
#include "debias/data/dataset.h"

namespace debias {

// The `eval` of a recipe that gives none. If the training views keep the size of the images: the image as it is. If they
// give one size [h, w] to images of another or of several: the training views' own `resize` when they begin with one that is large enough,
// else the short side to max(h, w); then the centre crop to [h, w]. A conversion to L*a*b* stays.
ChosenViews default_eval_views(const ChosenViews& views, const DatasetInfo& trained_on);
ChosenViews with_eval_views(ChosenViews views, const DatasetInfo& trained_on);  // the same views, with those where they have no `eval`

// By `views.eval`; without it, an image is evaluated at its own size. `trained_on` gives the normalisation where neither `views.eval` nor
// `views` has `normalize`. Usage errors as of ViewPipeline.
ViewPipeline eval_views(const ChosenViews& views, const DatasetInfo& trained_on);

// Random crop of a share of [0.2, 1] of the area and a flip, at the size that eval_views() gives: the views of SupContrast's linear probe
// (main_linear.py). A usage error where that size is not known.
ViewPipeline crop_flip_views(const ChosenViews& views, const DatasetInfo& trained_on);

}  // namespace debias
