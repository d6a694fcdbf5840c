// Cross-entropy on logits, and the parts that all objectives on logits share.
//
//   L_a = -log p_a,   p_a = softmax(z_a) at the label y_a,   value = mean over the rows of known label
//
// Input: z [N, C] logits, not normalised and finite; labels in 0..C-1. A row with label -1 (unknown) leaves the mean; with no row left the
// value is 0. The computation stays in log space, so logits may be large. There are no options.
// Errors: usage error for missing labels; data error for shapes, dtypes, and labels outside -1..C-1, naming the first and their number.
#pragma once

#include "debias/core/options.h"
#include "debias/losses/objective.h"

namespace debias {

struct LabelledLogits {
  at::Tensor logits;  // [N, C] float32 or float64: half precision becomes float32
  at::Tensor label;   // int64 [N], 0 where unknown
  at::Tensor known;   // bool [N]

  at::Tensor log_probability() const { return log_probability(logits); }  // [N] of the label
  at::Tensor log_probability(const at::Tensor& of_logits) const;          // the same under other logits
};
LabelledLogits labelled_logits(const ObjectiveInput& input, const char* objective);

// Data error unless every key is -1 or in 0..count-1. `what` is "label" or "bias label"; `of` names what `count` counts ("logits").
void check_keys(const at::Tensor& keys, int64_t count, const char* what, const char* of, const char* objective);

class CrossEntropyOptions {
 public:
  static const OptionTable<CrossEntropyOptions>& table();
};

ObjectiveResult cross_entropy(const ObjectiveInput& input, const CrossEntropyOptions& options);
ObjectiveResult cross_entropy(const at::Tensor& logits, const at::Tensor& labels, const CrossEntropyOptions& options = {});

ObjectiveEntry cross_entropy_entry();
bool is_cross_entropy(const ObjectiveOptions& options);  // true for options of this entry

}  // namespace debias
