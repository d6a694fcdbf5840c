#include "debias/losses/anchor_losses.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

namespace debias {
namespace {

// The sum over anchors in use, and how many those are.
std::pair<at::Tensor, int64_t> used_sum(const AnchorLosses& losses) {
  if (!losses.used.defined()) return {losses.loss.sum(), losses.loss.size(0)};
  return {losses.loss.where(losses.used, 0).sum(), losses.used.sum().item<int64_t>()};
}

void keep_smallest(std::optional<double>& smallest, const std::optional<double>& candidate) {
  if (candidate) smallest = smallest ? std::min(*smallest, *candidate) : *candidate;
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

ObjectiveResult mean_over_anchors(const AnchorLosses& losses, double scale) {
  const auto [sum, used] = used_sum(losses);
  ObjectiveResult result;
  result.value = sum * (scale / static_cast<double>(std::max<int64_t>(used, 1)));
  result.per_anchor = losses.loss.detach() * scale;
  if (losses.used.defined()) result.per_anchor = result.per_anchor.where(losses.used, kNan);
  result.anchors = losses.loss.size(0);
  result.anchors_used = used;
  result.clamped = losses.clamped;
  result.min_estimate = losses.min_estimate;
  return result;
}

ObjectiveResult mean_over_view_pairs(const ObjectiveInput& input, double scale,
                                     const std::function<AnchorLosses(int64_t, int64_t)>& pair_losses) {
  const int64_t samples = input.z.size(0), views = input.z.size(1);
  if (views == 2) return mean_over_anchors(pair_losses(0, 1), scale);
  ObjectiveResult result;
  result.anchors = samples * views;
  at::Tensor sums = at::zeros({views, samples}, input.z.options()), counts = at::zeros_like(sums);
  int64_t pairs_used = 0;
  for (int64_t first = 0; first < views; ++first) {
    for (int64_t second = first + 1; second < views; ++second) {
      const AnchorLosses losses = pair_losses(first, second);
      const ObjectiveResult pair = mean_over_anchors(losses, scale);
      result.clamped += pair.clamped;
      keep_smallest(result.min_estimate, pair.min_estimate);
      result.value = result.value.defined() ? result.value + pair.value : pair.value;
      pairs_used += pair.anchors_used > 0;
      const at::Tensor own = pair.per_anchor.view({2, samples});
      const int64_t rows[] = {first, second};
      for (int64_t side = 0; side < 2; ++side) {
        sums[rows[side]] += own[side].nan_to_num(0);
        counts[rows[side]] += own[side].isnan().logical_not();
      }
    }
  }
  result.value = result.value / static_cast<double>(std::max<int64_t>(pairs_used, 1));
  result.per_anchor = (sums / counts).flatten();  // 0 / 0 is the NaN of an anchor that no pair used
  result.anchors_used = counts.gt(0).sum().item<int64_t>();
  return result;
}

AnchorLosses no_negatives(const at::Tensor& positive) { return {.loss = positive * 0, .used = {}, .clamped = 0, .min_estimate = {}}; }

double smallest_estimate(const at::Tensor& estimate, const at::Tensor& shift) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  const at::Tensor scaled = estimate.detach().to(at::kDouble) * shift.to(at::kDouble).exp().clamp_max(kLargest);
  return std::clamp(scaled.min().item<double>(), -kLargest, kLargest);
}

}  // namespace debias
