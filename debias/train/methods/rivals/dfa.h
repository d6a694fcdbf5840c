// Disentangled feature augmentation: an encoder of what the label means and one of the bias; swapped bias features make new samples.
//
//   z_l = E_l(x), z_b = E_b(x) [B, D];  c = C_l([z_l, sg z_b]), a = C_b([sg z_l, z_b]) logits;  sg: no gradient;  P a permutation of the batch
//   L_dis  = mean W_i CE(c_i; y_i) + bias_weight * mean GCE_q(a_i; y_i)
//   L_swap = mean W_i CE(C_l([z_l, sg z_b[P]])_i; y_i) + bias_swap_weight * mean GCE_q(C_b([sg z_l, z_b[P]])_i; y[P]_i)
//   L = L_dis + swap_weight * L_swap,  the second from the share `swap_after` of the run's steps on
//
// W_i: relative difficulty of the running losses CE(a_i) and CE(c_i) (lff.h); CE, GCE: classification.h. Evaluated are both encoders and C_l on
// [z_l, z_b]: 2 D features, of E_l first ("encoder.intrinsic.", "encoder.bias." in checkpoints). P follows from seed and step. No bias labels.
//
// Source: Lee, Kim, Lee, Lee, Choo 2021 (NeurIPS), equations 1 to 4 and Algorithm 1, and its released code. The code swaps after 10,000 of
// 50,000 steps, which is swap_after 0.2, and lowers the learning rate from there on: `schedule` says so here. Its scripts set bias_weight and
// bias_swap_weight by data set: 10 on Colored MNIST, 1 or 5 on Corrupted CIFAR-10, 2 with swap_weight 0.1 on bFFHQ.
#pragma once

#include "debias/core/options.h"
#include "debias/train/methods/method.h"

namespace debias {

struct DfaOptions {
  double q = 0.7;
  double momentum = 0.7;
  double bias_weight = 1;
  double swap_weight = 1;
  double bias_swap_weight = 1;
  double swap_after = 0.2;
  void describe(OptionVisitor& o) {
    o("q", q, Range::open_closed(0, 1), "exponent of the bias classifier's generalized cross-entropy; near 0 it is cross-entropy");
    o("momentum", momentum, Range::half_open(0, 1), "momentum of the running loss of each sample; 0: only the current loss");
    o("bias_weight", bias_weight, Range::at_least(0), "weight of the bias classifier's loss");
    o("swap_weight", swap_weight, Range::at_least(0), "weight of both losses on swapped features");
    o("bias_swap_weight", bias_swap_weight, Range::at_least(0), "weight of the bias classifier's loss on swapped features");
    o("swap_after", swap_after, Range::closed(0, 1), "share of the run's steps before features are swapped");
  }
};

MethodEntry dfa_entry();

}  // namespace debias
