// A further update within a step, behind that of Method::run(): methods that train two networks against each other update one, and then the
// other on what the first has become.
#pragma once

#include <ATen/core/Tensor.h>

#include "debias/loader/batch_source.h"
#include "debias/train/methods/model.h"
#include "debias/train/methods/optimizers.h"

namespace debias {

// Minimises `loss` by one step of the optimizers; parameters that it does not reach stay as they are. Numeric error, in one line and before
// anything changes, where the loss or a gradient is not finite; `of` says whose loss it is ("biased network").
void second_update(const Model& model, const Optimizers& optimizers, const at::Tensor& loss, const Batch& batch, const char* of);

}  // namespace debias
