// The rows of objectives over classes: n = V*B rows, all of them anchors. Row v*B + i is view v of sample i.
//
// The positives P(a) of anchor a are the other rows of its class, including its own other views; its negatives are the rows of other
// classes. A sample of unknown label (-1) has its own other views as positives and every other sample as a negative. With keys
// (ObjectiveInput::keys) positives and negatives are keys, and the given positives are among them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "debias/core/enum_names.h"
#include "debias/losses/objective.h"
#include "debias/losses/pair_keys.h"
#include "debias/pairs/pair_sums.h"

namespace debias {

struct ClassRows {
  PairKeys keys;            // of the n rows
  Rows pairs;               // grouped by class, or by sample where the input has no labels
  at::Tensor positives;     // [n] |P(a)|, in the dtype of z
  at::Tensor negatives;     // [n]
  at::Tensor is_attracted;  // bool [n]: P(a) is not empty
};

// Data error unless z is [B, V, D], floating point and not empty, and the keys fit. Half precision is computed in float32.
ClassRows class_rows(const ObjectiveInput& input, double temperature, const char* objective);

// Reduction of an anchor's terms, one for each positive.
enum class OverPositives { kMean, kSum };

constexpr auto enum_words(OverPositives) { return named("mean", "sum"); }

}  // namespace debias
