#include "debias/pairs/pair_sums.h"

#include <ATen/ATen.h>

#include <cmath>

#include "debias/pairs/pair_engines.h"

namespace debias {
namespace {

Engine noted(const Rows& rows) {
  const Engine engine = engine_of(rows);
  if (rows.engines) rows.engines->note(engine);
  return engine;
}

// The sums of z_a . k_j / t over equal keys, from the groups' sums of keys.
at::Tensor equal_sums_by_group(const Rows& rows) {
  const at::Tensor anchors = rows.flat(), keys = rows.flat_keys();
  if (keys.size(0) == 0) return (anchors * 0).sum(1);
  const at::Tensor sorted = std::get<0>(rows.groups_of_keys().sort());  // a group's place is that of its first key there
  const at::Tensor sums = at::zeros_like(keys).index_add(0, at::searchsorted(sorted, rows.groups_of_keys()), keys);
  const at::Tensor place = at::searchsorted(sorted, rows.group).clamp_max(keys.size(0) - 1);
  at::Tensor equal = sums.index_select(0, place);
  if (!rows.square()) equal = equal.where(sorted.index_select(0, place).eq(rows.group).unsqueeze(1), 0);
  if (const auto self = rows.self_key()) equal = equal - keys.slice(0, *self, *self + rows.size());
  return (anchors * equal).sum(1) / rows.temperature;
}

// log_add_sums at epsilon = inf, sum of c_a + sign s_aj, from the groups' sums of keys.
at::Tensor linear_sums(const Rows& rows, const at::Tensor& c, const LogAdd& term) {
  const at::Tensor equal = equal_sums(rows);
  at::Tensor similarity = equal;
  if (term.set != PairSet::kEqual) {
    const at::Tensor keys = rows.flat_keys();
    at::Tensor all = keys.sum(0, true);
    if (const auto self = rows.self_key()) all = all - keys.slice(0, *self, *self + rows.size());
    const at::Tensor others = (all * rows.flat()).sum(1) / rows.temperature;
    similarity = term.set == PairSet::kOthers ? others : others - equal;
  }
  return c * set_sizes(rows, term.set) + term.sign * similarity;
}

std::vector<at::Tensor> log_sums_by(Engine engine, const Rows& rows, const std::vector<PairSum>& requests) {
  switch (engine) {
    case Engine::kFused:
      return fused_log_sums(rows, requests);
    case Engine::kBlocked:
      return blocked_log_sums(rows, requests);
    default:
      return dense_log_sums(rows, requests);
  }
}

}  // namespace

std::vector<at::Tensor> log_sums(const Rows& rows, const std::vector<PairSum>& requests) {
  std::vector<at::Tensor> sums = log_sums_by(noted(rows), rows, requests);
  for (size_t r = 0; r < requests.size(); ++r) {
    if (requests[r].constant) sums[r] = sums[r].detach();
  }
  return sums;
}

std::vector<at::Tensor> ranked_log_sums(const Rows& rows, const std::vector<RankedSum>& requests) {
  switch (noted(rows)) {
    case Engine::kFused:
      return fused_ranked_log_sums(rows, requests);
    case Engine::kBlocked:
      return blocked_ranked_log_sums(rows, requests);
    default:
      return dense_ranked_log_sums(rows, requests);
  }
}

at::Tensor log_add_sums(const Rows& rows, const at::Tensor& c, const LogAdd& term) {
  const Engine engine = noted(rows);
  if (engine == Engine::kDense) return dense_log_add_sums(rows, c, term);
  if (std::isinf(term.epsilon)) return linear_sums(rows, c, term);
  return engine == Engine::kFused ? fused_log_add_sums(rows, c, term) : blocked_log_add_sums(rows, c, term);
}

at::Tensor equal_sums(const Rows& rows) {
  if (engine_of(rows) != Engine::kFused) return equal_sums_by_group(rows);  // no pairs are formed: there is nothing to note
  if (rows.engines) rows.engines->note(Engine::kFused);
  return fused_equal_sums(rows);
}

at::Tensor equal_means(const Rows& rows) { return equal_sums(rows) / set_sizes(rows, PairSet::kEqual).clamp_min(1); }

at::Tensor log_add(const at::Tensor& x, double epsilon) { return at::logaddexp(at::full({}, -epsilon, x.options()), x); }

}  // namespace debias
