// Bias-balanced cross-entropy: training adds the log of P(label | bias label) to the logits, so that the network does not have to learn it.
//
//   L_a = cross-entropy of z_a + ln( P(y | b_a) + 1e-9 ) at the label y_a,   value = mean over the rows of known label and bias label
//
// Input: z [N, C] logits, not normalised; labels in 0..C-1 and bias labels. A row with an unknown label or bias label (-1) leaves the mean;
// with no row left the value is 0. P(y | b) is input.prior [C, G], whose column b is a distribution over labels, with b in 0..G-1. Without
// a prior it is counted from the rows of the batch, for any b >= 0. At test time, use the plain logits.
// Errors: usage error for missing labels or bias labels; data error for shapes, dtypes, keys out of range, and a prior with entries outside
// [0, 1] or with a used column that does not sum to 1 within 1e-3.
//
// Source: Hong and Yang 2021 (NeurIPS) and their released code, which takes the prior from the training set's table of counts, as `prior`
// should.
#pragma once

#include "debias/core/options.h"
#include "debias/losses/objective.h"

namespace debias {

class BiasBalancedOptions {
 public:
  static const OptionTable<BiasBalancedOptions>& table();
};

ObjectiveResult bias_balanced(const ObjectiveInput& input, const BiasBalancedOptions& options);
// An undefined prior is counted from the batch.
ObjectiveResult bias_balanced(const at::Tensor& logits, const at::Tensor& labels, const at::Tensor& bias, const at::Tensor& prior = {});

ObjectiveEntry bias_balanced_entry();

}  // namespace debias
