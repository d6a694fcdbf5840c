#include "debias/losses/pair_rows.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "debias/losses/class_rows.h"
#include "debias/losses/fused_pairs.h"
#include "debias/losses/two_view.h"

namespace debias {
namespace {

at::Tensor similarities(const PairRows& rows) { return at::mm(rows.z / rows.temperature, rows.z.t()); }

at::Tensor excluded(const PairRows& rows, PairSet set) {  // bool [n, n]: j is not in the set of i
  const int64_t n = rows.z.size(0);
  at::Tensor out = at::zeros({n, n}, at::TensorOptions(at::kBool).device(rows.z.device()));
  if (set != PairSet::kOthers) {
    out = rows.group.unsqueeze(1).eq(rows.group.unsqueeze(0));
    if (set == PairSet::kEqual) out = out.logical_not();
  }
  out.fill_diagonal_(true);
  return out;
}

// A set may be empty or hold weights of zero only: the log of its sum is kLogOfNothing, with a gradient of zero.
at::Tensor log_sum(const at::Tensor& exponents, const at::Tensor& out) {
  const at::Tensor sums = at::logsumexp(exponents.masked_fill(out, kLogOfNothing), 1);
  return sums.where(out.all(1).logical_not(), kLogOfNothing);
}

// [n, n] in 1..N among the columns that are not `out`, ties sharing the largest; 0 elsewhere.
at::Tensor ranks(const at::Tensor& s, const at::Tensor& out) {
  const at::Tensor values = s.detach().masked_fill(out, std::numeric_limits<double>::infinity()).contiguous();
  const at::Tensor sorted = std::get<0>(values.sort(1));
  return at::searchsorted(sorted, values, false, true).masked_fill(out, 0);
}

// log_add_sums at epsilon = inf, sum of c_i + sign s_ij, from the groups' sums of rows.
at::Tensor linear_sums(const PairRows& rows, const at::Tensor& c, const LogAdd& term) {
  const at::Tensor equal = equal_sums(rows);
  at::Tensor similarity = equal;
  if (term.set != PairSet::kEqual) {
    const at::Tensor others = ((rows.z.sum(0, true) - rows.z) * rows.z).sum(1) / rows.temperature;
    similarity = term.set == PairSet::kOthers ? others : others - equal;
  }
  return c * set_sizes(rows, term.set) + term.sign * similarity;
}

}  // namespace

std::vector<at::Tensor> log_sums(const PairRows& rows, const std::vector<PairSum>& requests) {
  if (rows.fused()) return fused_log_sums(rows, requests);
  const at::Tensor s = similarities(rows);
  std::vector<at::Tensor> results;
  for (const auto& request : requests) {
    const at::Tensor sum = log_sum(s * request.multiplier, excluded(rows, request.set));
    results.push_back(rows.views == 1 ? sum : sum.view({-1, rows.views}).t().reshape(-1));
  }
  return results;
}

std::vector<at::Tensor> ranked_log_sums(const PairRows& rows, const std::vector<RankedSum>& requests) {
  if (rows.fused()) return fused_ranked_log_sums(rows, requests);
  const at::Tensor s = similarities(rows), out = excluded(rows, PairSet::kUnequal), rank = ranks(s, out);
  std::vector<at::Tensor> results;
  for (const auto& request : requests) {
    const at::Tensor log_weight = at::cat({at::zeros({1}, at::kDouble), request.log_weight}).to(s.device(), s.scalar_type());
    const at::Tensor weights = log_weight.index({rank});
    const at::Tensor sum = log_sum((s * request.multiplier + weights).masked_fill(weights.isinf(), kLogOfNothing), out);
    results.push_back(request.constant ? sum.detach() : sum);
  }
  return results;
}

at::Tensor log_add_sums(const PairRows& rows, const at::Tensor& c, const LogAdd& term) {
  if (rows.fused() && std::isfinite(term.epsilon)) return fused_log_add_sums(rows, c, term);
  if (rows.fused()) return linear_sums(rows, c, term);
  const at::Tensor x = c.unsqueeze(1) + term.sign * similarities(rows), out = excluded(rows, term.set);
  if (std::isinf(term.epsilon)) return x.masked_fill(out, 0).sum(1);
  return log_add(x.masked_fill(out, 0), term.epsilon).masked_fill(out, 0).sum(1);
}

at::Tensor equal_sums(const PairRows& rows) {
  if (rows.fused()) return fused_equal_sums(rows);
  const at::Tensor index = std::get<1>(at::_unique(rows.group, true, true));
  const int64_t groups = rows.z.size(0) == 0 ? 0 : index.max().item<int64_t>() + 1;
  const at::Tensor sums = at::zeros({groups, rows.z.size(1)}, rows.z.options()).index_add(0, index, rows.z);
  const at::Tensor others = sums.index_select(0, index) - rows.z;
  return (rows.z * others).sum(1) / rows.temperature;
}

at::Tensor equal_means(const PairRows& rows) { return equal_sums(rows) / set_sizes(rows, PairSet::kEqual).clamp_min(1); }

at::Tensor set_sizes(const PairRows& rows, PairSet set) {
  const int64_t n = rows.z.size(0);
  const auto [groups, index, counts] = at::_unique2(rows.group, true, true, true);
  const at::Tensor own = counts.index_select(0, index).to(rows.z.scalar_type());
  if (set == PairSet::kEqual) return own - 1;
  if (set == PairSet::kUnequal) return n - own;
  return at::full_like(own, n - 1);
}

at::Tensor class_groups(const at::Tensor& label, const at::Tensor& sample) {
  const at::Tensor index = std::get<1>(at::_unique(sample, true, true));
  return label.where(label.ge(0), -1 - index);  // negative: one group for each sample of unknown label
}

}  // namespace debias
