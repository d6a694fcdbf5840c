// Keys given beside the anchors (ObjectiveInput::keys): checked, and grouped together with them.
#pragma once

#include <ATen/core/Tensor.h>

#include "debias/losses/objective.h"
#include "debias/pairs/rows.h"

namespace debias {

// Data error in one line unless keys, their samples and labels, the positives and `self` fit z [B, V, D]; brings keys and positives to the
// dtype of z. Without keys there must be no positives either.
void check_keyed(ObjectiveInput& input, const char* objective);

// Gives `rows` the input's keys, and groups to both: by sample, or by class. Keys of no sample are in a group of their own.
void set_keys(Rows& rows, const ObjectiveInput& input, bool by_class, const char* objective);

// Data error where an anchor has no positive: count [n], of keys of its own sample.
void require_positives(const at::Tensor& count, const ObjectiveInput& input, const char* objective);

// Usage error for an objective that reads the numerator alone, where several positives of a sample are given.
void require_one_positive(const ObjectiveInput& input, const char* objective);

// For objectives over classes: the positives as further keys, in front, with the samples and labels of their anchors.
ObjectiveInput with_positives_as_keys(const ObjectiveInput& input);

}  // namespace debias
