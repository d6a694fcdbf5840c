// Anchors against rows that are drawn from a memory bank for each of them: scores, and the losses of these scores.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "debias/losses/late_number.h"
#include "debias/losses/objective.h"

namespace debias {

// Scores of anchors against rows of a memory bank.
//
//   scores[i, k] = <bank[ids[i, k]], f_i> / temperature
//
// Only f has a gradient, and computing it reads the bank again. Autograd rejects a bank that was changed between the scores and backward(),
// so update a bank after the step.

// bank [n, D], ids int32 [B, picks] on the CPU, f [B, D] on the device of the bank. float32 on the CPU is computed in place
// (kernels/bank_scores.h), in a few bytes per score. A device multiplies by the whole bank and picks from the products if they are fewer
// numbers than the picked rows. All other cases use gathered_bank_scores.
at::Tensor bank_scores(const at::Tensor& bank, const at::Tensor& ids, const at::Tensor& f, double temperature);

// The definition: copies the picked rows, D numbers per score. ids must be on the device of the bank.
at::Tensor gathered_bank_scores(const at::Tensor& bank, const at::Tensor& ids, const at::Tensor& f, double temperature);

// Contrastive losses of anchors that are given as scores: column 0 is the positive, columns 1..K are its negatives.
//
// A loss [B] has a closed-form gradient, so that nothing of the size of the scores is stored with it. Sums over a row are in the type of
// the scores, the rest in double.
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

// The losses of anchors from their scores divided by the temperature; column 0 is the positive.
using LossOfDraws = std::function<ScoreLosses(const at::Tensor& scores)>;

// The sum over banks of the mean over anchors, times `scale`, of `loss` or of a bank's own estimator (BankDraws::nce).
ObjectiveResult sum_over_banks(const std::vector<BankDraws>& draws, double temperature, double scale, const LossOfDraws& loss);

// Why the options are invalid for draws; empty for temperatures of at least 2e-3.
std::string unfit_for_draws(double temperature, bool drop_false_negatives);

}  // namespace debias
