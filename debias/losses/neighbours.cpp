#include "debias/losses/neighbours.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "debias/core/error.h"
#include "debias/pairs/pair_engines.h"
#include "debias/runtime/device.h"

namespace debias {
namespace {

// Pairs of a row and a positive of it, in the order of rows. They follow from B and the context, so that the host knows them.
struct NeighbourPairs {
  at::Tensor row, column;  // int64 [pairs]
  at::Tensor distance;     // int64 [B, B] of rows and columns
  at::Tensor is_positive;  // bool [B, B]
  at::Tensor count;        // int64 [B]: M_i
};

NeighbourPairs neighbour_pairs(int64_t B, int64_t context) {
  const at::Tensor index = at::arange(B, at::kLong);
  NeighbourPairs pairs;
  pairs.distance = (index.unsqueeze(0) - index.unsqueeze(1)).abs();
  pairs.is_positive = pairs.distance.gt(0).logical_and(pairs.distance.le(context));
  pairs.count = pairs.is_positive.sum(1);
  const at::Tensor places = pairs.is_positive.nonzero();
  pairs.row = places.select(1, 0);
  pairs.column = places.select(1, 1);
  return pairs;
}

// Rows of scores, and what of each is no negative; pairs that have the same negatives share a row.
struct NegativeRows {
  at::Tensor scores, out;  // [rows, B], bool [rows, B], where the scores are
  at::Tensor row;          // int64 [pairs] on the host
  at::Tensor count;        // int64 [pairs] on the host: N
};

NegativeRows negative_rows(const at::Tensor& scores, const NeighbourPairs& pairs, NeighbourNegatives negatives, int64_t context) {
  const int64_t B = scores.size(0);
  const auto there = [&](const at::Tensor& host) { return upload(host, scores.device()); };
  if (negatives == NeighbourNegatives::kNegatives) {
    return {scores, there(pairs.distance.le(context)), pairs.row, (B - 1 - pairs.count).index_select(0, pairs.row)};
  }
  const at::Tensor full = scores.masked_fill(there(pairs.distance.eq(0)), 0).index_select(0, there(pairs.row));
  const at::Tensor out = at::zeros(full.sizes(), at::kBool).scatter_(1, pairs.column.unsqueeze(1), true);
  return {full, there(out), at::arange(full.size(0), at::kLong), at::full_like(pairs.row, B - 1)};
}

// Pairs with N negatives each.
class PairAnchors final : public Anchors {
 public:
  PairAnchors(double t, const NegativeRows& all, const at::Tensor& pairs) : Anchors(t), all_(all) {
    const at::Tensor rows = all.row.index_select(0, pairs);
    const auto [used, place] = at::_unique(rows, /*sorted=*/true, /*return_inverse=*/true);
    const c10::Device device = all.scores.device();
    rows_ = upload(rows, device);
    used_ = upload(used, device);
    place_ = upload(place, device);
  }

  std::vector<at::Tensor> log_sums(const std::vector<NegativeSum>& requests) const override {
    std::vector<at::Tensor> sums;
    for (const auto& [multiplier, constant] : requests) {
      const at::Tensor sum =
          matrix_log_sum(all_.scores.index_select(0, used_), all_.out.index_select(0, used_), multiplier).index_select(0, place_);
      sums.push_back(constant ? sum.detach() : sum);
    }
    return sums;
  }
  std::vector<at::Tensor> ranked_log_sums(const std::vector<RankedSum>& requests) const override {
    return matrix_ranked_log_sums(all_.scores.index_select(0, rows_), all_.out.index_select(0, rows_), requests);
  }

 private:
  const NegativeRows& all_;
  at::Tensor rows_, used_, place_;  // of the pairs; distinct ones, and where among them each pair's is
};

std::vector<int64_t> distinct(const at::Tensor& counts) {
  std::vector<int64_t> values(counts.const_data_ptr<int64_t>(), counts.const_data_ptr<int64_t>() + counts.numel());
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

void check_neighbours(const NeighbourScores& given) {
  const at::Tensor& products = given.products;
  if (products.dim() != 2 || products.size(1) != products.size(0)) throw data_error("neighbours: scores are not square");
  if (products.size(0) > given.context + 1) return;
  throw usage_error("neighbours: a batch of {} sentences has no negatives with context {}; it needs at least {}", products.size(0),
                    given.context, given.context + 2);
}

}  // namespace

ObjectiveResult mean_over_neighbours(const NeighbourScores& given, NeighbourNegatives usual, double temperature, double scale,
                                     const LossOfAnchors& loss) {
  check_neighbours(given);
  const at::Tensor scores = given.products / temperature;
  const int64_t B = scores.size(0);
  const NeighbourPairs pairs = neighbour_pairs(B, given.context);
  const auto there = [&](const at::Tensor& host) { return upload(host, scores.device()); };
  const at::Tensor row = there(pairs.row), count = there(pairs.count);
  const at::Tensor positive = scores.index_select(0, row).gather(1, there(pairs.column).unsqueeze(1)).squeeze(1);
  const at::Tensor sum_positive = scores.masked_fill(there(pairs.is_positive.logical_not()), kLogOfNothing).logsumexp(1);
  const at::Tensor mean_positive = (sum_positive - count.to(scores.scalar_type()).log()).index_select(0, row);
  const NegativeRows negatives = negative_rows(scores, pairs, given.negatives.value_or(usual), given.context);

  ObjectiveResult result;
  at::Tensor losses = at::zeros_like(positive);
  LateNumber sample_sizes;
  double weighted = 0;  // pairs whose negatives have weights
  for (const int64_t N : distinct(negatives.count.contiguous())) {
    if (N == 0) continue;
    const at::Tensor pairs_of_n = negatives.count.eq(N).nonzero().flatten(), own = there(pairs_of_n);
    PairAnchors anchors(temperature, negatives, pairs_of_n);
    anchors.positive = positive.index_select(0, own);
    anchors.mean_positive = mean_positive.index_select(0, own);
    anchors.negatives = N;
    const AnchorLosses found = loss(anchors);
    losses = losses.index_copy(0, own, found.loss);
    result.clamped += found.clamped;
    keep_smallest(result.min_estimate, found.min_estimate);
    if (!found.effective_sample_size) continue;
    const auto share = static_cast<double>(pairs_of_n.size(0));
    sample_sizes += found.effective_sample_size->times(share);
    weighted += share;
  }
  if (weighted > 0) result.effective_sample_size = sample_sizes.over(weighted);
  const at::Tensor sums = at::zeros({B}, losses.options()).index_add(0, row, losses);
  const at::Tensor rows = sums / count.to(losses.scalar_type()) * scale;
  result.value = rows.mean();
  result.per_anchor = rows.detach();
  result.anchors = result.anchors_used = pairs.row.numel();
  return result;
}

std::string unfit_for_products(Clamp clamp) {
  if (clamp == Clamp::kPositive) return "";
  return fmt::format("clamp: {} is for unit vectors, and scores are of vectors of any length, so it needs clamp: positive",
                     enum_name(clamp));
}

NeighbourHits neighbour_hits(const at::Tensor& scores) {
  const int64_t B = scores.size(0);
  const at::Tensor best = scores.detach().clone().fill_diagonal_(0).argmax(1), index = at::arange(B, best.options());
  NeighbourHits hits;
  hits.pairs = B - 1;
  hits.next = LateNumber(best.slice(0, 0, B - 1).eq(index.slice(0, 1)).sum());
  hits.previous = LateNumber(best.slice(0, 1).eq(index.slice(0, 0, B - 1)).sum());
  return hits;
}

int64_t nearest_is_neighbour(const at::Tensor& scores) {
  const at::Tensor best = scores.detach().clone().fill_diagonal_(kLogOfNothing).argmax(1);
  const at::Tensor index = at::arange(scores.size(0), best.options());
  return (best - index).abs().eq(1).sum().item<int64_t>();
}

}  // namespace debias
