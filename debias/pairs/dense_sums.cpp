#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "debias/pairs/pair_engines.h"

namespace debias {
namespace {

at::Tensor similarities(const Rows& rows) {
  const at::Tensor anchors = rows.flat();
  return at::mm(anchors / rows.temperature, (rows.square() ? anchors : rows.keys).t());
}

at::Tensor excluded(const Rows& rows, PairSet set) { return excluded(rows, set, 0, rows.size()); }

// A set may be empty or hold weights of zero only: the log of its sum is kLogOfNothing, with a gradient of zero.
at::Tensor log_sum(const at::Tensor& exponents, const at::Tensor& out) {
  const at::Tensor sums = at::logsumexp(exponents.masked_fill(out, kLogOfNothing), 1);
  return sums.where(out.all(1).logical_not(), kLogOfNothing);
}

}  // namespace

at::Tensor ranks(const at::Tensor& s, const at::Tensor& out) {
  const at::Tensor values = s.detach().masked_fill(out, std::numeric_limits<double>::infinity()).contiguous();
  const at::Tensor sorted = std::get<0>(values.sort(1));
  return at::searchsorted(sorted, values, false, true).masked_fill(out, 0);
}

std::vector<at::Tensor> dense_log_sums(const Rows& rows, const std::vector<PairSum>& requests) {
  const at::Tensor s = similarities(rows);
  std::vector<at::Tensor> results;
  for (const auto& request : requests) results.push_back(matrix_log_sum(s, excluded(rows, request.set), request.multiplier));
  return results;
}

std::vector<at::Tensor> dense_ranked_log_sums(const Rows& rows, const std::vector<RankedSum>& requests) {
  return matrix_ranked_log_sums(similarities(rows), excluded(rows, PairSet::kUnequal), requests);
}

at::Tensor matrix_log_sum(const at::Tensor& s, const at::Tensor& out, double multiplier) { return log_sum(s * multiplier, out); }

std::vector<at::Tensor> matrix_ranked_log_sums(const at::Tensor& s, const at::Tensor& out, const std::vector<RankedSum>& requests) {
  const at::Tensor rank = ranks(s, out);
  std::vector<at::Tensor> results;
  for (const auto& request : requests) {
    const at::Tensor log_weight = at::cat({at::zeros({1}, at::kDouble), request.log_weight}).to(s.device(), s.scalar_type());
    const at::Tensor weights = log_weight.index({rank});
    const at::Tensor sum = log_sum((s * request.multiplier + weights).masked_fill(weights.isinf(), kLogOfNothing), out);
    results.push_back(request.constant ? sum.detach() : sum);
  }
  return results;
}

at::Tensor dense_log_add_sums(const Rows& rows, const at::Tensor& c, const LogAdd& term) {
  const at::Tensor x = c.unsqueeze(1) + term.sign * similarities(rows), out = excluded(rows, term.set);
  if (std::isinf(term.epsilon)) return x.masked_fill(out, 0).sum(1);
  return log_add(x.masked_fill(out, 0), term.epsilon).masked_fill(out, 0).sum(1);
}

}  // namespace debias
