#include "debias/losses/neighbours.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "debias/core/error.h"
#include "debias/losses/negatives_estimate.h"
#include "debias/losses/two_view.h"

namespace debias {
namespace {

constexpr double kNothing = -1e30;  // and not -inf, of which a row without negatives would make NaN gradients

// Pairs of a row and a positive of it, those of one distance after those of another.
struct NeighbourPairs {
  at::Tensor row, column;  // int64 [pairs]
  at::Tensor distance;     // int64 [B, B] of rows and columns
  at::Tensor count;        // int64 [B]: M_i
};

NeighbourPairs neighbour_pairs(int64_t B, int64_t context) {
  const at::Tensor index = at::arange(B, at::kLong);
  NeighbourPairs pairs;
  pairs.distance = (index.unsqueeze(0) - index.unsqueeze(1)).abs();
  const at::Tensor positive = pairs.distance.gt(0).logical_and(pairs.distance.le(context));
  pairs.count = positive.sum(1);
  const at::Tensor places = positive.nonzero();
  pairs.row = places.select(1, 0);
  pairs.column = places.select(1, 1);
  return pairs;
}

// Of each pair: log of the sum of e^s over the negatives of its row, and their number.
struct Negative {
  at::Tensor log_sum;
  at::Tensor count;  // int64
};

Negative negatives_of(const at::Tensor& scores, const NeighbourPairs& pairs, const NeighbourOptions& options) {
  const int64_t B = scores.size(0);
  if (options.denominator() == NeighbourNegatives::kNegatives) {
    const at::Tensor sums = scores.masked_fill(pairs.distance.le(options.context()), kNothing).logsumexp(1);
    return {sums.index_select(0, pairs.row), (B - 1 - pairs.count).index_select(0, pairs.row)};
  }
  const at::Tensor full = scores.masked_fill(pairs.distance.eq(0), 0).index_select(0, pairs.row);
  return {full.scatter(1, pairs.column.unsqueeze(1), kNothing).logsumexp(1), at::full_like(pairs.row, B - 1)};
}

// The losses of pairs that have so many negatives.
AnchorLosses losses_of(const at::Tensor& log_sum, const at::Tensor& mean_positive, const at::Tensor& positive, int64_t negatives,
                       double tau_plus) {
  if (negatives == 0) return no_negatives(positive);
  if (tau_plus == 0) return {.loss = log_one_plus_exp(log_sum - positive), .used = {}, .clamped = 0, .min_estimate = {}};
  NegativesEstimate estimate;
  estimate.log_sum = log_sum;
  estimate.mean_positive = mean_positive;
  estimate.positive = positive;
  estimate.negatives = negatives;
  estimate.tau_plus = tau_plus;
  estimate.temperature = 1;
  estimate.clamp = Clamp::kPositive;
  return estimate_losses(estimate);
}

std::vector<int64_t> distinct(const at::Tensor& counts) {
  std::vector<int64_t> values(counts.const_data_ptr<int64_t>(), counts.const_data_ptr<int64_t>() + counts.numel());
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

}  // namespace

ObjectiveResult neighbour_loss(const at::Tensor& scores, const NeighbourOptions& options) {
  const int64_t B = scores.size(0);
  if (scores.dim() != 2 || scores.size(1) != B) throw data_error("neighbours: scores are not square");
  if (B <= options.context() + 1) {
    throw usage_error("neighbours: a batch of {} sentences has no negatives with context {}; it needs at least {}", B, options.context(),
                      options.context() + 2);
  }
  const NeighbourPairs pairs = neighbour_pairs(B, options.context());
  const at::Tensor positive = scores.index({pairs.row, pairs.column});
  const at::Tensor is_positive = pairs.distance.gt(0).logical_and(pairs.distance.le(options.context()));
  const at::Tensor mean_positive =
      scores.masked_fill(is_positive.logical_not(), kNothing).logsumexp(1) - pairs.count.to(scores.scalar_type()).log();
  const Negative negative = negatives_of(scores, pairs, options);
  const at::Tensor of_row = mean_positive.index_select(0, pairs.row);

  ObjectiveResult result;
  at::Tensor losses = at::zeros_like(positive);
  for (const int64_t N : distinct(negative.count.contiguous())) {
    const at::Tensor own = negative.count.eq(N).nonzero().flatten();
    const AnchorLosses found =
        losses_of(negative.log_sum.index_select(0, own), of_row.index_select(0, own), positive.index_select(0, own), N, options.tau_plus());
    losses = losses.index_copy(0, own, found.loss);
    result.clamped += found.clamped;
    keep_smallest(result.min_estimate, found.min_estimate);
  }
  const at::Tensor sums = at::zeros({B}, losses.options()).index_add(0, pairs.row, losses);
  const at::Tensor rows = sums / pairs.count.to(losses.scalar_type());
  result.value = rows.mean();
  result.per_anchor = rows.detach();
  result.anchors = result.anchors_used = pairs.row.numel();
  return result;
}

NeighbourHits neighbour_hits(const at::Tensor& scores) {
  const int64_t B = scores.size(0);
  const at::Tensor index = at::arange(B, at::kLong), best = scores.detach().clone().fill_diagonal_(0).argmax(1);
  NeighbourHits hits;
  hits.pairs = B - 1;
  hits.next = best.slice(0, 0, B - 1).eq(index.slice(0, 1)).sum().item<int64_t>();
  hits.previous = best.slice(0, 1).eq(index.slice(0, 0, B - 1)).sum().item<int64_t>();
  return hits;
}

int64_t nearest_is_neighbour(const at::Tensor& scores) {
  const at::Tensor index = at::arange(scores.size(0), at::kLong);
  const at::Tensor best = scores.detach().clone().fill_diagonal_(kNothing).argmax(1);
  return (best - index).abs().eq(1).sum().item<int64_t>();
}

}  // namespace debias
