// Group DRO (Sagawa, Koh, Hashimoto and Liang 2020): the loss of the worst group, a group being a class with a bias label, in place of the
// mean. Weights over groups follow the groups' losses, and the network minimises the loss that they weight.
//
//   L_g = mean cross-entropy of the batch's samples of group g, 0 where it has none
//   q_g <- q_g exp(eta (L_g + C / sqrt(n_g))) / sum over groups,   loss = sum_g q_g L_g     (Algorithm 1; C: section 3.3)
//
// q begins uniform over the groups that the training set has; n_g counts their samples in it; eta = `step_size`, C = `adjustment`. The
// gradient does not flow through q. As the released code (kohpangwei/group_DRO): q is updated before the loss of the same batch is formed,
// every group is updated at each step, also those without a sample, and a C of 0 adds nothing. Algorithm 1 draws one group a step; the
// sampler `balanced` brings every group into every batch, as the released code's reweighted batches do on average. q belongs to the
// training state.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "debias/core/options.h"
#include "debias/train/methods/method.h"

namespace debias {

struct GroupDroOptions {
  double step_size = 0.01;
  double adjustment = 0;
  void describe(OptionVisitor& o) {
    o("step_size", step_size, Range::above(0), "eta: how fast the weights follow the losses of the groups");
    o("adjustment", adjustment, Range::at_least(0), "C: C / sqrt(samples of the group) is added to its loss in the weights");
  }
};

// losses [B], groups int64 [B] in 0..G-1: the mean of each group's, double [G], and its samples, double [G]; 0 for a group without one.
struct GroupMeans {
  at::Tensor loss, count;
};
GroupMeans group_means(const at::Tensor& losses, const at::Tensor& groups, int64_t group_count);

// q after a step: weights, group_losses (adjusted) and the result are double [G]; weights of 0 stay 0. Formed in log space.
at::Tensor updated_group_weights(const at::Tensor& weights, const at::Tensor& group_losses, double step_size);

MethodEntry group_dro_entry();

}  // namespace debias
