// Contrastive losses of anchors that are given as scores: column 0 the positive, columns 1..K its negatives.
//
// A loss [B] has a closed gradient, so that nothing the size of the scores is kept beside them. Sums over a row are formed in the scores'
// own type, what is done with them in double.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "debias/losses/late_number.h"

namespace debias {

struct ScoreLosses {
  at::Tensor loss;                         // [B], in double
  LateNumber fallen_back = 0;              // anchors that took the biased loss, where the loss is a debiased one
  std::optional<LateNumber> min_estimate;  // smallest estimate of the mean e^s over negatives, before the clamp
};

// Cross-entropy with target 0: log(1 + sum over k of e^{s_k - s_0}).
ScoreLosses softmax_losses(const at::Tensor& scores);

// With g = (mean over k of e^{s_k} - tau_plus e^{s_0}) / (1 - tau_plus): log(1 + K g e^{-s_0}), or the softmax loss for each anchor whose g
// is below e^{-1/temperature}, the least e^s of unit rows. `temperature` is what the scores were divided by.
ScoreLosses debiased_softmax_losses(const at::Tensor& scores, double tau_plus, double temperature);

// Noise-contrastive estimation against K draws that are uniform over `samples` rows. With P_k = e^{s_k} / normaliser and P_n = 1 / samples:
// -log(P_0 / (P_0 + K P_n + 1e-7)) - sum over k of log(K P_n / (P_k + K P_n + 1e-7)).
ScoreLosses nce_losses(const at::Tensor& scores, int64_t samples, double normaliser);

// The normaliser that a first batch sets: the mean of e^s, times `samples`.
double nce_normaliser(const at::Tensor& scores, int64_t samples);

// nce_losses() against one bank of `samples` rows, whose first batch sets the normaliser for good.
class BankNce {
 public:
  explicit BankNce(int64_t samples) : samples_(samples) {}
  ScoreLosses operator()(const at::Tensor& scores);

  std::optional<double> normaliser() const { return normaliser_; }  // none: no batch has been seen
  void set_normaliser(std::optional<double> normaliser) { normaliser_ = normaliser; }

 private:
  int64_t samples_;
  std::optional<double> normaliser_;
};

}  // namespace debias
