// The scores of anchors as a contrastive loss uses them, for every form of scores: rows of a batch, keys, and neighbours in a text.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "debias/losses/anchor_losses.h"
#include "debias/pairs/pair_sums.h"

namespace debias {

struct NegativeSum {
  double multiplier = 1;  // k
  bool constant = false;  // without gradient
};

// Sums over each anchor's negatives j; [anchors], part of the graph.
class NegativeSums {
 public:
  virtual ~NegativeSums() = default;
  virtual std::vector<at::Tensor> log_sums(const std::vector<NegativeSum>& requests) const = 0;       // log of the sum of e^{k s_aj}
  virtual std::vector<at::Tensor> ranked_log_sums(const std::vector<RankedSum>& requests) const = 0;  // as in pair_sums.h
};

// Anchors with the same number of negatives.
struct ScoredAnchors {
  const NegativeSums& sums;
  at::Tensor positive;       // [anchors] s_ap of the positive p in the numerator
  at::Tensor mean_positive;  // [anchors] log of the mean of e^s over all positives of the anchor
  int64_t negatives = 0;     // N, at least 1
};

// InfoNCE: the loss of the uncorrected sum over negatives.
inline AnchorLosses biased_losses(const ScoredAnchors& anchors) { return losses_against(anchors.sums.log_sums({{}})[0], anchors.positive); }

using LossOfAnchors = std::function<AnchorLosses(const ScoredAnchors&)>;

}  // namespace debias
