// Contrastive losses of anchors that are given as scores: column 0 is the positive, columns 1..K are its negatives.
//
// A loss [B] has a closed-form gradient, so that nothing of the size of the scores is stored with it. Sums over a row are in the type of
// the scores, the rest in double.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "debias/losses/late_number.h"

namespace debias {

struct ScoreLosses {
  at::Tensor loss;                         // [B], in double
  LateNumber fallen_back = 0;              // in a debiased loss, anchors with the biased loss
  std::optional<LateNumber> min_estimate;  // smallest estimate of the mean e^s over negatives, before the clamp
};

// Cross-entropy with target 0: log(1 + sum over k of e^{s_k - s_0}).
ScoreLosses softmax_losses(const at::Tensor& scores);

// log(1 + K g e^{-s_0}) with g = (mean over k of e^{s_k} - tau_plus e^{s_0}) / (1 - tau_plus). An anchor whose g is below
// e^{-1/temperature}, the smallest e^s of unit rows, has the softmax loss. The scores were divided by `temperature`.
ScoreLosses debiased_softmax_losses(const at::Tensor& scores, double tau_plus, double temperature);

// Noise-contrastive estimation against K uniform draws from `samples` rows. With P_k = e^{s_k} / normaliser and P_n = 1 / samples:
// -log(P_0 / (P_0 + K P_n + 1e-7)) - sum over k of log(K P_n / (P_k + K P_n + 1e-7)).
ScoreLosses nce_losses(const at::Tensor& scores, int64_t samples, double normaliser);

// The normaliser, set by the first batch: the mean of e^s times `samples`.
double nce_normaliser(const at::Tensor& scores, int64_t samples);

// nce_losses() against one bank of `samples` rows. The first batch sets the normaliser permanently.
class BankNce {
 public:
  explicit BankNce(int64_t samples) : samples_(samples) {}
  ScoreLosses operator()(const at::Tensor& scores);

  std::optional<double> normaliser() const { return normaliser_; }  // none before the first batch
  void set_normaliser(std::optional<double> normaliser) { normaliser_ = normaliser; }

 private:
  int64_t samples_;
  std::optional<double> normaliser_;
};

}  // namespace debias
