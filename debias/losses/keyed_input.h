// Keys that are given beside the anchors (ObjectiveInput::keys): their checks, and their grouping with the anchors.
#pragma once

#include <ATen/core/Tensor.h>

#include "debias/losses/objective.h"
#include "debias/pairs/rows.h"

namespace debias {

// Data error unless keys, their samples and labels, the positives and `self` fit z [B, V, D], or if there are positives without keys.
// Converts keys and positives to the dtype of z.
void check_keyed(ObjectiveInput& input, const char* objective);

// Adds the input's keys to `rows`, and groups both by sample or by class. A key without a sample has a group of its own.
void set_keys(Rows& rows, const ObjectiveInput& input, bool by_class, const char* objective);

// Data error if an anchor has no positive. count [n] is the number of keys of each anchor's own sample.
void require_positives(const at::Tensor& count, const ObjectiveInput& input, const char* objective);

// Usage error if several positives of a sample are given to an objective that uses only the one in the numerator.
void require_one_positive(const ObjectiveInput& input, const char* objective);

// For objectives over classes: puts the positives before the keys, with the samples and labels of their anchors.
ObjectiveInput with_positives_as_keys(const ObjectiveInput& input);

}  // namespace debias
