// Methods that weigh samples by the losses of a biased network and of the one that is evaluated: LfF, DFA.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

#include "debias/core/options.h"
#include "debias/core/safetensors.h"
#include "debias/data/sample_table.h"
#include "debias/results/metric.h"
#include "debias/train/methods/method.h"

namespace debias {

// State that a method keeps for each sample of the training set from one visit to the next.

// values [B] of the samples `indices` int64 [B]: of each row the mean over the rows of its sample, where a sampler draws it several times.
at::Tensor mean_of_sample(const at::Tensor& indices, const at::Tensor& values);

// The running loss of every sample, relative to the largest of its class:
//
//   r_i <- l_i at the first visit of sample i, then r_i <- m r_i + (1 - m) l_i       relative_i = r_i / max over j of class y_i of r_j
//
// m in [0, 1). float32 [N] on the method's device; -1 where a sample has not been visited. It is a tensor of the checkpoint.
class RunningLosses {
 public:
  RunningLosses(std::string name, const SampleTable& dataset, double momentum, at::Device device);

  // Relative losses [B] of the samples `indices` after adding `losses` [B]. The step's losses are kept by commit() alone, so that a
  // step that fails leaves none behind.
  at::Tensor relative(const at::Tensor& indices, const at::Tensor& losses);
  void commit();

  const at::Tensor& losses() const { return losses_; }
  std::pair<std::string, at::Tensor> state() const { return {name_, losses_}; }
  void load(const SafetensorsFile& file);

 private:
  std::string name_;
  double momentum_;
  int64_t classes_;
  at::Tensor labels_;         // int64 [N]
  at::Tensor losses_, next_;  // next: those of the step under way
};

// W = b / (b + d + 1e-8) of relative losses of a biased and a debiased network, [B]: near 1 for samples that only the biased one finds hard
// (Nam et al. 2020, equation 3; constant and normalisation by class are the released code's).
at::Tensor relative_difficulty(const at::Tensor& biased, const at::Tensor& debiased);
inline constexpr const char* kRelativeDifficulty = "relative_difficulty";  // its mean over the samples of an epoch
Metric relative_difficulty_metric();

// W of the visits of a step, and the running losses of both networks that it is made of, "METHOD.biased_losses" and "METHOD.debiased_losses"
// of the checkpoint.
class DifficultyWeights {
 public:
  DifficultyWeights(const std::string& method, const SampleTable& dataset, double momentum, at::Device device);

  // indices int64 [B] of the samples, cross-entropies [B] of both networks.
  at::Tensor weights(const at::Tensor& indices, const at::Tensor& biased, const at::Tensor& debiased);
  void commit();  // of RunningLosses

  std::vector<std::pair<std::string, at::Tensor>> state() const { return {biased_.state(), debiased_.state()}; }
  void load(const SafetensorsFile& file);

 private:
  RunningLosses biased_, debiased_;
};

// Learning from failure: a biased network that learns easy samples determines the weights of the samples for the evaluated network.
//
//   L_b = mean of GCE_q(b_i)                    b_i = C_b(E_b(x_i)) logits of the biased network, GCE of classification.h
//   L_d = mean of W_i CE(d_i)                   d_i = C(E(x_i)) logits of the evaluated network
//   W_i = B_i / (B_i + D_i + 1e-8)              B_i, D_i: running losses CE(b_i), CE(d_i) of the sample, each over the largest of any
//                                               sample of its class; no gradient flows through W
//
// The step minimises L_d + L_b: each network is trained by its own loss alone. Images x [1, B, C, H, W], logits [B, classes]. No bias
// labels. `momentum` m of the running losses: r <- m r + (1 - m) l, the loss itself at a sample's first visit.
//
// Source: Nam, Cha, Ahn, Lee, Shin 2020 (NeurIPS), Algorithm 1 and equations 1 to 3, and the released code. Equation 3 has the losses of
// the visit; the code has running ones, each over the largest of its class, and its numbers are those of the tables. The code gives each
// network an optimizer with the same settings. Here one optimizer updates both: the same except for `clip_norm`.
struct LffOptions {
  double q = 0.7;
  double momentum = 0.7;
  void describe(OptionVisitor& o) {
    o("q", q, Range::open_closed(0, 1), "exponent of the biased network's generalized cross-entropy; near 0 it is cross-entropy");
    o("momentum", momentum, Range::half_open(0, 1), "momentum of the running loss of each sample; 0: only the current loss");
  }
};

MethodEntry lff_entry();

// Disentangled feature augmentation: an encoder of what the label means and one of the bias; swapped bias features make new samples.
//
//   z_l = E_l(x), z_b = E_b(x) [B, D];  c = C_l([z_l, sg z_b]), a = C_b([sg z_l, z_b]) logits;  sg: no gradient;  P a permutation of the batch
//   L_dis  = mean W_i CE(c_i; y_i) + bias_weight * mean GCE_q(a_i; y_i)
//   L_swap = mean W_i CE(C_l([z_l, sg z_b[P]])_i; y_i) + bias_swap_weight * mean GCE_q(C_b([sg z_l, z_b[P]])_i; y[P]_i)
//   L = L_dis + swap_weight * L_swap,  the second from the share `swap_after` of the run's steps on
//
// W_i: relative difficulty of the running losses CE(a_i) and CE(c_i); CE, GCE: classification.h. Evaluated are both encoders and C_l on
// [z_l, z_b]: 2 D features, of E_l first ("encoder.intrinsic.", "encoder.bias." in checkpoints). P follows from seed and step. No bias labels.
//
// Source: Lee, Kim, Lee, Lee, Choo 2021 (NeurIPS), equations 1 to 4 and Algorithm 1, and its released code. The code swaps after 10,000 of
// 50,000 steps, which is swap_after 0.2, and lowers the learning rate from there on: `schedule` says so here. Its scripts set bias_weight and
// bias_swap_weight by data set: 10 on Colored MNIST, 1 or 5 on Corrupted CIFAR-10, 2 with swap_weight 0.1 on bFFHQ.
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
