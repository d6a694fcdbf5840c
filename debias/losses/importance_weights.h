// Common parts of objectives with importance weights over an anchor's negatives: the rows of two views, the weighted sum and its effective
// sample size.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "debias/losses/objective.h"
#include "debias/losses/scored_anchors.h"

namespace debias {

// The mean of the two-view losses over all pairs of views, or of the rows against their keys, with diagnostics. `input` comes from
// checked_views. A sample without negatives has loss 0 and is not passed on. N = 2B - 2; with keys, the number of keys of other samples.
ObjectiveResult mean_over_weighted_rows(const ObjectiveInput& input, double temperature, double scale, const char* objective,
                                        const LossOfAnchors& losses);

// log of N sum(w e^s) / sum(w), with weights w proportional to e^{beta s}, from the logs of both sums. With detached weights the gradient
// of the numerator, whose terms grow as e^{(1 + beta) s}, is that of the factor e^s alone.
struct WeightedSum {
  at::Tensor log_sum;      // [rows] log of sum(w e^s)
  at::Tensor log_weights;  // [rows] log of sum(w)
  double beta = 0;
  bool detach_weights = false;
};
at::Tensor log_normalised(const WeightedSum& sum, int64_t negatives);

// The mean over rows of sum(w)^2 / sum(w^2), in [1, N], from the logs of both sums.
LateNumber effective_sample_size(const at::Tensor& log_weights, const at::Tensor& log_squares, int64_t negatives);

}  // namespace debias
