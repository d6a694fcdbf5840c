#include "debias/losses/anchor_losses.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

namespace debias {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

ObjectiveResult mean_over_anchors(const AnchorLosses& losses, double scale, const std::shared_ptr<EngineRecord>& engines) {
  ObjectiveResult result;
  if (losses.used.defined()) {
    const at::Tensor used = losses.used.sum();
    result.value = losses.loss.where(losses.used, 0).sum() * (scale / used.to(at::kDouble).clamp_min(1)).to(losses.loss.scalar_type());
    result.anchors_used = LateNumber(used);
  } else {
    result.value = losses.loss.sum() * (scale / static_cast<double>(std::max<int64_t>(losses.loss.size(0), 1)));
    result.anchors_used = losses.loss.size(0);
  }
  result.per_anchor = losses.loss * scale;
  if (losses.used.defined()) result.per_anchor = result.per_anchor.where(losses.used, kNan);
  result.anchors = losses.loss.size(0);
  result.clamped = losses.clamped;
  result.min_estimate = losses.min_estimate;
  if (engines) result.engine = engines->engine();
  return result;
}

namespace {

// The losses of all rows, from those of their parts.
AnchorLosses joined(const std::vector<ViewPair>& parts, const std::function<AnchorLosses(const ViewPair&)>& losses_of) {
  if (parts.size() == 1) return losses_of(parts.front());
  AnchorLosses all;
  std::vector<at::Tensor> losses, used, rows;
  for (const auto& part : parts) {
    const AnchorLosses own = losses_of(part);
    losses.push_back(own.loss);
    used.push_back(own.used.defined() ? own.used : at::ones_like(own.loss, at::kBool));
    rows.push_back(part.rows);
    all.clamped += own.clamped;
    keep_smallest(all.min_estimate, own.min_estimate);
  }
  const at::Tensor place = at::cat(rows).argsort();
  all.loss = at::cat(losses).index_select(0, place);
  all.used = at::cat(used).index_select(0, place);
  if (all.used.all().item<bool>()) all.used = at::Tensor();
  return all;
}

}  // namespace

ObjectiveResult mean_over_parts(const std::vector<ViewPair>& parts, double scale,
                                const std::function<AnchorLosses(const ViewPair&)>& part_losses) {
  return mean_over_anchors(joined(parts, part_losses), scale, parts.front().input.engines);
}

ObjectiveResult mean_over_view_pairs(const ObjectiveInput& input, double scale, const char* objective,
                                     const std::function<AnchorLosses(const ViewPair&)>& pair_losses) {
  if (input.keys.defined()) return mean_over_parts(keyed_parts(input, objective), scale, pair_losses);
  const int64_t samples = input.z.size(0), views = input.z.size(1);
  if (views == 2) return mean_over_anchors(pair_losses(view_pair(input, 0, 1)), scale, input.engines);
  ObjectiveResult result;
  result.anchors = samples * views;
  at::Tensor sums = at::zeros({views, samples}, input.z.options()), counts = at::zeros_like(sums);
  int64_t pairs_used = 0;
  for (int64_t first = 0; first < views; ++first) {
    for (int64_t second = first + 1; second < views; ++second) {
      const ObjectiveResult pair = mean_over_anchors(pair_losses(view_pair(input, first, second)), scale, input.engines);
      result.clamped += pair.clamped;
      result.clampable += pair.anchors;
      keep_smallest(result.min_estimate, pair.min_estimate);
      result.value = result.value.defined() ? result.value + pair.value : pair.value;
      pairs_used += pair.anchors_used > 0;
      const at::Tensor own = pair.per_anchor.view({2, samples}), there = own.detach().isnan().logical_not();
      const int64_t rows[] = {first, second};
      for (int64_t side = 0; side < 2; ++side) {
        sums[rows[side]] += own[side].where(there[side], 0);
        counts[rows[side]] += there[side];
      }
    }
  }
  result.value = result.value / static_cast<double>(std::max<int64_t>(pairs_used, 1));
  result.per_anchor = (sums / counts.clamp_min(1)).where(counts.gt(0), kNan).flatten();
  result.anchors_used = LateNumber(counts.gt(0).sum());
  if (input.engines) result.engine = input.engines->engine();
  return result;
}

AnchorLosses losses_against(const at::Tensor& log_negatives, const at::Tensor& positive) {
  return {.loss = log_one_plus_exp(log_negatives - positive), .used = {}, .clamped = 0, .min_estimate = {}};
}

AnchorLosses no_negatives(const at::Tensor& positive) { return {.loss = positive * 0, .used = {}, .clamped = 0, .min_estimate = {}}; }

LateNumber smallest_estimate(const at::Tensor& estimate, const at::Tensor& shift) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  const at::Tensor scaled = estimate.detach().to(at::kDouble) * shift.to(at::kDouble).exp().clamp_max(kLargest);
  return LateNumber(scaled.min().clamp(-kLargest, kLargest));
}

}  // namespace debias
