#include "debias/losses/two_view.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "debias/core/error.h"
#include "debias/losses/pair_keys.h"
#include "debias/losses/pair_rows.h"

namespace debias {
namespace {

// [2B, 2B]: 0 where row j is a negative of row i, kLogOfNothing where j is i or its partner. Added to the similarities by the product
// itself, which costs the backward pass nothing (in-place fills would copy the gradient once each).
at::Tensor negatives_only(int64_t samples, const at::TensorOptions& options) {
  const at::Tensor mask = at::zeros({2 * samples, 2 * samples}, options);
  for (const int64_t offset : {-samples, int64_t{0}, samples}) mask.diagonal(offset).fill_(kLogOfNothing);
  return mask;
}

at::Tensor row_dot(const at::Tensor& a, const at::Tensor& b) { return (a * b).sum(-1); }

// Over the anchor's partner and its rows in the further views.
at::Tensor log_mean_positive(const at::Tensor& z, const at::Tensor& scaled, const at::Tensor& positive, const TwoViewRequest& request) {
  std::vector<at::Tensor> all = {positive};
  for (int64_t view = 0; view < z.size(1); ++view) {
    if (view != request.first && view != request.second) all.push_back(row_dot(scaled, z.select(1, view).repeat({2, 1})));
  }
  return at::logsumexp(at::stack(all), 0) - std::log(static_cast<double>(all.size()));
}

}  // namespace

ObjectiveInput checked_views(const ObjectiveInput& input, const char* objective) {
  const at::Tensor& z = input.z;
  if (!z.defined() || z.dim() != 3 || !z.is_floating_point() || z.numel() == 0) {
    throw data_error("{}: expected non-empty floating-point embeddings [samples, views, dimensions], found {}", objective,
                     z.defined() ? fmt::format("{} of shape {}", c10::toString(z.scalar_type()), c10::str(z.sizes())) : "none");
  }
  if (z.size(1) < 2) throw usage_error("{}: needs at least 2 views of each sample, found {}", objective, z.size(1));
  ObjectiveInput checked = input;
  if (z.scalar_type() != at::kDouble) checked.z = z.to(at::kFloat);
  checked.bfloat16_products |= z.scalar_type() == at::kBFloat16;
  return checked;
}

void require_labels(const ObjectiveInput& input, const char* objective, const char* reason) {
  if (!input.labels.defined()) throw usage_error("{}: {} needs labels; none were given", objective, reason);
}

namespace {

// The dense composition: the definition.
TwoViewSums dense_sums(const ObjectiveInput& input, const TwoViewRequest& request, const PairKeys& keys) {
  const int64_t samples = input.z.size(0);
  const at::Tensor rows = at::cat({input.z.select(1, request.first), input.z.select(1, request.second)});
  const at::Tensor scaled = rows / request.temperature;
  const at::Tensor similarities = at::addmm(negatives_only(samples, rows.options()), scaled, rows.t());
  TwoViewSums sums;
  sums.positive = row_dot(scaled, rows.roll(samples, 0));
  sums.mean_positive = request.group_positives ? log_mean_positive(input.z, scaled, sums.positive, request) : sums.positive;
  if (request.with_self) sums.self = row_dot(scaled, rows);
  sums.log_negatives = at::logsumexp(similarities, 1);
  sums.log_kept = sums.log_negatives;
  if (request.drop_false_negatives) sums.log_kept = at::logsumexp(similarities.masked_fill(keys.false_negatives(), kLogOfNothing), 1);
  return sums;
}

// By the tile engine. Rows stay in the order of the input, view within sample, which is the order of their groups: nothing is copied.
TwoViewSums fused_sums(const ObjectiveInput& input, const TwoViewRequest& request, const PairKeys& keys) {
  const int64_t samples = input.z.size(0);
  const bool all_views = input.z.size(1) == 2 && request.first == 0;
  const at::Tensor pair = all_views ? input.z : at::stack({input.z.select(1, request.first), input.z.select(1, request.second)}, 1);
  const auto by_sample = [&](const at::Tensor& view_major) { return view_major.view({2, samples}).t().reshape(-1); };
  PairRows rows = {.z = pair.reshape({2 * samples, -1}),
                   .group = by_sample(keys.sample),
                   .temperature = request.temperature,
                   .engine = input.engine,
                   .memory_budget = input.memory_budget,
                   .bfloat16_products = input.bfloat16_products,
                   .views = 2};
  const auto all = log_sums(rows, {{PairSet::kUnequal, 1}, {PairSet::kEqual, 1}});
  TwoViewSums sums;
  sums.log_negatives = all[0];
  sums.positive = all[1];  // the one equal row is the partner
  sums.mean_positive = sums.positive;
  if (request.group_positives) {
    const at::Tensor scaled = pair.transpose(0, 1).reshape({2 * samples, -1}) / request.temperature;
    sums.mean_positive = log_mean_positive(input.z, scaled, sums.positive, request);
  }
  if (request.with_self) {
    const at::Tensor norms = at::linalg_vector_norm(rows.z, 2, at::IntArrayRef{1});
    sums.self = norms.view({samples, 2}).t().reshape(-1).square() / request.temperature;
  }
  sums.log_kept = sums.log_negatives;
  if (request.drop_false_negatives) {
    rows.group = class_groups(by_sample(keys.label), by_sample(keys.sample));
    sums.log_kept = log_sums(rows, {{PairSet::kUnequal, 1}})[0];
  }
  return sums;
}

}  // namespace

TwoViewSums two_view_sums(const ObjectiveInput& input, const TwoViewRequest& request, const char* objective) {
  const PairKeys keys = pair_keys(input, 2, objective);
  TwoViewSums sums = takes_fused(input.engine, input.z) ? fused_sums(input, request, keys) : dense_sums(input, request, keys);
  sums.negatives = 2 * input.z.size(0) - 2;
  if (!request.with_self && !request.drop_false_negatives) return sums;
  sums.kept = at::full({2 * input.z.size(0)}, sums.negatives, input.z.options().requires_grad(false));
  if (request.drop_false_negatives)
    sums.kept = set_sizes({.z = sums.kept.unsqueeze(1), .group = class_groups(keys.label, keys.sample)}, PairSet::kUnequal);
  return sums;
}

at::Tensor log_one_plus_exp(const at::Tensor& x) { return at::softplus(x, 1, 80); }

double exponential_slack(const at::Tensor& like, double temperature) {
  const double epsilon = like.scalar_type() == at::kDouble ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  return std::min(0.5, 8 * epsilon * (1 + 1 / temperature));
}

}  // namespace debias
