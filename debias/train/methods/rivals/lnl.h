// Learning not to learn (Kim, Kim, Kim, Kim and Kim 2019): an adversary predicts the bias label from the encoder's output, and the encoder
// is trained so that it cannot.
//
//   first update, encoder and classifier:   mean_i [ CE(z_i, y_i) + entropy_weight sum_b a_ib log a_ib ],   a_i = softmax(h(f_i))
//   second update, adversary and encoder:   mean_i CE(h(r(f_i)), b_i),   r(f) = f with the gradient times -reversal
//
// z [B, C] logits; f_i the pooled output; h the adversary, D to `hidden` units with ReLU to the bias labels (hidden: 0: linear). The first
// update makes the adversary's answer uniform and leaves h as it is; in the second h learns to read the bias, and the encoder,
// through the reversed gradient (Ganin and Lempitsky 2015), to hide it. The second sees the encoder that the first has updated.
//
// As the released code (feidfoe/learning-not-to-learn), with its weights: 0.01 and 0.1. That code has the adversary as a small convolutional
// network on feature maps, one answer a pixel, and three adversaries for the three channels of a colour in eight steps. Here it reads the
// pooled output, of any encoder, and predicts the bias label.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/linear.h>

#include <cstdint>

#include "debias/core/options.h"
#include "debias/train/methods/method.h"

namespace debias {

struct LnlOptions {
  double entropy_weight = 0.01;
  double reversal = 0.1;
  int64_t hidden = 64;
  void describe(OptionVisitor& o) {
    o("entropy_weight", entropy_weight, Range::at_least(0), "weight of the negative entropy of the adversary's prediction");
    o("reversal", reversal, Range::at_least(0), "factor of the adversary's reversed gradient in the encoder");
    o("hidden", hidden, Range::closed(0, 1 << 16), "units of the adversary's hidden layer; 0: a linear adversary");
  }
};

// `rows` themselves, with the gradient times -factor.
at::Tensor with_reversed_gradient(const at::Tensor& rows, double factor);

// Features [B, D] to logits over bias labels. `fixed`: the gradient reaches the features alone.
class Adversary : public torch::nn::Module {
 public:
  Adversary(int64_t inputs, int64_t hidden, int64_t outputs, uint64_t seed);
  at::Tensor logits(const at::Tensor& features, bool fixed = false) const;

 private:
  torch::nn::Linear hidden_{nullptr}, last_{nullptr};
};

MethodEntry lnl_entry();

}  // namespace debias
