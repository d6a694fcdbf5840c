// The integers that every row carries, and the kinds of pairs that follow from comparing them.
//
// Row v*B + i is view v of sample i. Rows with equal sample keys are views of one image and never negatives of each other. Rows with equal
// labels are of one class; -1 is unknown and matches nothing, not even another -1. Positions in the batch have no meaning, so the same code
// handles any number of views, and rows gathered from several processes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "debias/losses/objective.h"

namespace debias {

struct PairKeys {
  at::Tensor sample;  // int64 [rows]
  at::Tensor label;   // int64 [rows]; undefined when the input has none
  at::Tensor bias;    // int64 [rows]; undefined when the input has none
};

// The keys of `views` views of the input's B samples. `objective` names the caller in messages.
// Data error: keys that are not int64 [B], or, if anchors are compared with each other, two samples with the same key. (The loader numbers
// the occurrences of a repeated image, so that their keys differ.)
PairKeys pair_keys(const ObjectiveInput& input, int64_t views, const char* objective);

// Usage error if keys are given to an objective that compares its anchors with each other.
void refuse_keys(const ObjectiveInput& input, const char* objective);

}  // namespace debias
