// Bias-balanced cross-entropy: what the bias label alone says about the label is added to the logits in training, so that the network need
// not learn it.
//
//   L_a = cross-entropy of z_a + ln( P(y | b_a) + 1e-9 ) at the label y_a,   value = mean over the rows of known label and bias label
//
// z [N, C] logits, not normalised; labels in 0..C-1 and bias labels, -1 = unknown: that row leaves the mean (0 with no row left). P(y | b)
// is input.prior, [C, G], column b a distribution over labels and b in 0..G-1; without one it is counted from the batch's rows, any b >= 0.
// Use the plain logits at test time. Throws: usage error on missing labels or bias; data error on shapes, dtypes, keys out of range, a
// prior with entries outside [0, 1] or a column in use that does not sum to 1 within 1e-3.
//
// Source: Hong & Yang 2021 (NeurIPS) and their released code, which takes the prior from the training set's table of counts, as `prior`
// should.
#pragma once

#include "debias/core/options.h"
#include "debias/losses/objective.h"
#include "debias/losses/objective_module.h"

namespace debias {

class BiasBalancedOptions {
 public:
  static const OptionTable<BiasBalancedOptions>& table();
};

ObjectiveResult bias_balanced(const ObjectiveInput& input, const BiasBalancedOptions& options);
// An undefined prior is counted from the batch.
ObjectiveResult bias_balanced(const at::Tensor& logits, const at::Tensor& labels, const at::Tensor& bias, const at::Tensor& prior = {});

class BiasBalancedImpl : public ObjectiveModule<BiasBalancedOptions, bias_balanced> {
 public:
  using ObjectiveModule::ObjectiveModule;
  ObjectiveResult forward(const at::Tensor& logits, const at::Tensor& labels, const at::Tensor& bias) {
    return bias_balanced(ObjectiveInput{.z = logits, .labels = labels, .bias = bias, .prior = prior}, options);
  }
  at::Tensor prior;  // [C, G]; undefined: counted from each batch
};
TORCH_MODULE(BiasBalanced);

ObjectiveEntry bias_balanced_entry();

}  // namespace debias
