// Learning from failure: a biased network that learns easy samples determines the weights of the samples for the evaluated network.
//
//   L_b = mean of GCE_q(b_i)                    b_i = C_b(E_b(x_i)) logits of the biased network, GCE of classification.h
//   L_d = mean of W_i CE(d_i)                   d_i = C(E(x_i)) logits of the evaluated network
//   W_i = B_i / (B_i + D_i + 1e-8)              B_i, D_i: running losses CE(b_i), CE(d_i) of the sample, each over the largest of any
//                                               sample of its class (sample_visits.h); no gradient flows through W
//
// The step minimises L_d + L_b: each network is trained by its own loss alone. Images x [1, B, C, H, W], logits [B, classes]. No bias
// labels. `momentum` m of the running losses: r <- m r + (1 - m) l, the loss itself at a sample's first visit.
//
// Source: Nam, Cha, Ahn, Lee, Shin 2020 (NeurIPS), Algorithm 1 and equations 1 to 3, and the released code. Equation 3 has the losses of
// the visit; the code has running ones, each over the largest of its class, and its numbers are those of the tables. The code gives each
// network an optimizer with the same settings. Here one optimizer updates both: the same except for `clip_norm`.
#pragma once

#include "debias/core/options.h"
#include "debias/train/methods/method.h"

namespace debias {

struct LffOptions {
  double q = 0.7;
  double momentum = 0.7;
  void describe(OptionVisitor& o) {
    o("q", q, Range::open_closed(0, 1), "exponent of the biased network's generalized cross-entropy; near 0 it is cross-entropy");
    o("momentum", momentum, Range::half_open(0, 1), "momentum of the running loss of each sample; 0: only the current loss");
  }
};

MethodEntry lff_entry();

}  // namespace debias
