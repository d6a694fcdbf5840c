// Ensembles with a bias-only branch: RUBi, LearnedMixin.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/linear.h>

#include <cstdint>
#include <string>

#include "debias/core/enum_names.h"
#include "debias/core/options.h"
#include "debias/train/methods/method.h"

namespace debias {

// Input of a method's bias-only branch for a sample: features of a biased network that is trained beside the evaluated one, or the bias
// label. And linear layers that are trained beside it.
enum class BiasBranch { kLabels, kNetwork };
constexpr auto enum_words(BiasBranch) { return named("labels", "network"); }

// Errors of require_bias_labels() or of require_bias_encoder(), whichever the branch needs; a usage error where it has a bias_encoder and
// reads labels.
void require_bias_branch(const Recipe& recipe, const SampleTable& dataset, const char* method, BiasBranch branch);

// A linear layer "NAME" whose weights follow from the recipe's seed and the name; with trained = false they stay as they are.
SideNetwork side_linear(const Recipe& recipe, const std::string& name, int64_t inputs, int64_t outputs, bool trained);
torch::nn::LinearImpl& side_linear_of(const Model& model, const std::string& name);  // std::logic_error where there is none

// RUBi (Cadene, Dancette, Ben-younes, Cord and Parikh 2019): what can be predicted from the bias alone masks the logits in training, so that
// samples which the bias answers cost little and teach little.
//
//   fused_i = z_i * sigmoid(c_i),   c_i = gate(sg(h_i))        (sg: no gradient)
//   loss    = mean_i CE(fused_i, y_i) + weight mean_i CE(c_i, y_i)
//
// z [B, C] logits of the evaluated classifier, which are used alone in evaluation; gate: a linear layer on h, C outputs. h_i is what the
// branch knows: bias: labels gives the one-hot bias label; bias: network the pooled output of a biased network, which learns by its own
// cross-entropy and gets nothing from the fused loss.
//
// The paper is of questions and images; h is the question's embedding, the gate has several layers, and a second linear layer is between
// c and the branch's own loss. bias: network is the comparison of Bahng et al. 2020 (clovaai/rebias), whose numbers the tables of image data
// have: one layer, which that code by mistake leaves out of its optimizer. train_gate: false does the same.
struct RubiOptions {
  BiasBranch bias = BiasBranch::kLabels;
  double branch_weight = 1;
  bool train_gate = true;
  void describe(OptionVisitor& o) {
    o("bias", bias, "input of the gate: bias labels, or the output of a biased network trained alongside");
    o("branch_weight", branch_weight, Range::at_least(0), "weight of the gate's own cross-entropy");
    o("train_gate", train_gate, "false: the gate keeps its initial weights, as in the comparison of Bahng et al. 2020");
  }
};

// logits, gate [B, C], labels int64 [B]: the cross-entropy of the masked logits by sample, [B].
at::Tensor rubi_losses(const at::Tensor& logits, const at::Tensor& gate, const at::Tensor& labels);

MethodEntry rubi_entry();

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
