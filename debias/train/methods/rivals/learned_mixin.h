// Learned-mixin, with entropy "+H" (Clark, Yatskar and Zettlemoyer 2019): the classifier is trained in an ensemble with a bias-only
// predictor, to whose log probabilities it is added. It need not learn what the bias explains, and it is evaluated alone.
//
//   p_i  = softmax( z_i + g_i log b_i ),   g_i = softplus(w . h_i + w_0)
//   loss = mean_i [ -log p_i(y_i) + entropy H( softmax(g_i log b_i) ) ]                        (+H: keeps g from falling to 0)
//
// z [B, C] logits; h the pooled output of the evaluated encoder, through which the gradient flows; log b the bias-only predictor's, fixed.
// bias: labels counts P(y | bias label) in the training set as it is drawn, with 1e-9 added to each. bias: network takes the logits of a
// biased network, which for the first `pretrain` epochs is trained alone, and then no longer. Adding a number to a row of log b changes
// nothing, so logits serve.
//
// bias: network is the comparison of Bahng et al. 2020 (clovaai/rebias), whose numbers the tables of image data have, with its entropy weight
// of 0.36. That code by mistake leaves w out of its optimizer: train_mixin: false does the same. There, pretraining comes on top of the
// epochs; here it is the first part of them. entropy: 0 is learned-mixin without +H.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "debias/core/options.h"
#include "debias/train/methods/method.h"
#include "debias/train/methods/rivals/bias_branch.h"

namespace debias {

struct LearnedMixinOptions {
  BiasBranch bias = BiasBranch::kLabels;
  double entropy = 0.36;
  int64_t pretrain = 5;
  bool train_mixin = true;
  void describe(OptionVisitor& o) {
    o("bias", bias, "bias-only predictor: counted from bias labels, or a biased network trained first");
    o("entropy", entropy, Range::at_least(0), "weight of the entropy of the scaled predictor; 0: learned-mixin without +H");
    o("pretrain", pretrain, Range::at_least(1), "number of first epochs that train only the biased network (bias: network)");
    o("train_mixin", train_mixin, "false: the layer that gives g keeps its initial weights, as in the comparison of Bahng et al. 2020");
  }
};

// logits, log_bias [B, C], factor [B] >= 0, labels int64 [B]: the loss by sample, [B].
at::Tensor learned_mixin_losses(const at::Tensor& logits, const at::Tensor& log_bias, const at::Tensor& factor, const at::Tensor& labels,
                                double entropy_weight);

MethodEntry learned_mixin_entry();

}  // namespace debias
