// Methods that weigh groups or samples that are classified badly: Group DRO, JTT.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "debias/core/options.h"
#include "debias/train/methods/method.h"

namespace debias {

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

// Just train twice: the samples that a network trained briefly gets wrong count more when the evaluated network is trained.
//
//   epochs 1..T       identification: a network f of the same encoder, mean of CE(f(x_i)); E = samples that f gets wrong in epoch T
//   epochs T+1..      mean of u_i CE(C(E(x_i))),   u_i = upweight / Z for i in E, 1 / Z otherwise,   Z the mean of both over all samples
//
// T = `identification_epochs`, smaller than train.epochs, which counts both stages. The evaluated network keeps its first weights during the
// first stage, and the identification network is not used after it. CE: cross-entropy by sample of classification.h. No bias labels.
//
// Source: Liu, Haghgoo, Chen, Raghunathan, Koh, Sagawa, Liang, Finn 2021 (ICML), Algorithm 1 and equation 5, and its released code. The code
// copies the samples of E `upweight` times into an epoch; u has the same expected gradient, and an epoch keeps its number of steps. As
// there, E has the predictions of epoch T's own steps, each made before the step's update. A sample that T leaves out (drop_last) is not in E.
struct JttOptions {
  int64_t identification_epochs = 1;
  double upweight = 50;
  void describe(OptionVisitor& o) {
    o("identification_epochs", identification_epochs, Range::at_least(1),
      "number of first epochs, within train.epochs, that train the network whose errors are upweighted");
    o("upweight", upweight, Range::at_least(1), "weight of a sample that this network misclassifies; all others have weight 1");
  }
};

// u [N] in float32 of errors [N], 1 in E and 0 elsewhere.
at::Tensor jtt_weights(const at::Tensor& errors, double upweight);

MethodEntry jtt_entry();

}  // namespace debias
