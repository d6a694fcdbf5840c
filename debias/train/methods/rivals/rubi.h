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
#pragma once

#include <ATen/core/Tensor.h>

#include "debias/core/options.h"
#include "debias/train/methods/method.h"
#include "debias/train/methods/rivals/bias_branch.h"

namespace debias {

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

}  // namespace debias
