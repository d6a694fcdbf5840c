#include "debias/losses/end.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "debias/core/error.h"
#include "debias/losses/comparison.h"
#include "debias/losses/group_moments.h"
#include "debias/losses/objective_entry.h"

namespace debias {
namespace {

// The sum of c over a set of unordered pairs and how many those are.
struct PairTotal {
  at::Tensor sum;  // 0-d, or by bias label
  double count = 0;
};

at::Tensor sums_by(const at::Tensor& keys, const at::Tensor& z) {  // [K, D + 1]: the last column counts rows
  const auto [groups, index] = at::_unique(keys, true, true);
  const at::Tensor rows = at::cat({z, at::ones({z.size(0), 1}, z.options())}, 1);
  return at::zeros({groups.size(0), rows.size(1)}, rows.options()).index_add(0, index, rows);
}

at::Tensor squared_sums(const at::Tensor& sums) { return sums.narrow(1, 0, sums.size(1) - 1).square().sum(1); }
double squared_counts(const at::Tensor& sums) { return sums.select(1, -1).detach().square().sum().item<double>(); }

class GroupedPairs {
 public:
  explicit GroupedPairs(const KeyedRows& rows) : rows_(rows), z_(rows.z.to(at::kDouble)) {}

  PairTotal one_bias() const {
    const at::Tensor sums = sums_by(rows_.bias, z_), own = sums_by(rows_.bias, z_.square().sum(1, true)).select(1, 0);
    return {(squared_sums(sums) - own) / 2, (squared_counts(sums) - static_cast<double>(z_.size(0))) / 2};
  }

  PairTotal one_label(bool full_pairs) const {
    const at::Tensor known = rows_.label.ge(0).nonzero().squeeze(1), z = z_.index_select(0, known);
    const KeyedRows rows = rows_.picked(known);
    if (!full_pairs) {
      const double count = partner_sums(at::ones({z.size(0), 1}, z.options()), rows.label, rows.bias).sum().item<double>() / 2;
      return {(z * partner_sums(z, rows.label, rows.bias)).sum() / 2, count};
    }
    const KeyGroups groups = key_groups(rows.label, rows.bias);
    const at::Tensor group_of = at::zeros_like(groups.order).index_copy(0, groups.order, groups.group_of);
    const at::Tensor label = sums_by(rows.label, z), both = sums_by(group_of, z);
    return {(squared_sums(label).sum() - squared_sums(both).sum()) / 2, (squared_counts(label) - squared_counts(both)) / 2};
  }

 private:
  const KeyedRows& rows_;
  at::Tensor z_;
};

class DensePairs {
 public:
  explicit DensePairs(const KeyedRows& rows) : rows_(rows), c_(rows.z.mm(rows.z.t())) {}

  PairTotal one_bias() const {
    const at::Tensor pairs = rows_.bias.unsqueeze(1).eq(rows_.bias.unsqueeze(0)).tril(-1);
    return {sums_by(rows_.bias, (c_ * pairs).sum(1, true)).select(1, 0), pairs.sum().item<double>()};
  }

  PairTotal one_label(bool full_pairs) const {
    const at::Tensor label = rows_.label.unsqueeze(1), bias = rows_.bias.unsqueeze(1);
    const at::Tensor same = label.eq(label.t()).logical_and(label.ge(0)).tril(-1);
    const at::Tensor pairs = same.logical_and(full_pairs ? bias.ne(bias.t()) : bias.lt(bias.t()));
    return {(c_ * pairs).sum(), pairs.sum().item<double>()};
  }

 private:
  const KeyedRows& rows_;
  at::Tensor c_;
};

template <class Pairs>
ObjectiveResult evaluated(const KeyedRows& rows, const EndOptions& options) {
  const Pairs pairs(rows);
  const PairTotal bias = pairs.one_bias(), label = pairs.one_label(options.full_pairs);
  ObjectiveResult result;
  result.value = bias.sum.abs().sum() * (bias.count > 0 ? options.alpha / bias.count : 0);
  if (label.count > 0) result.value = result.value + options.beta * (0.5 - label.sum / (2 * label.count));
  result.value = result.value.to(rows.z.scalar_type());
  result.clamped = (bias.count == 0) + (label.count == 0);
  result.clampable = 2;
  return result;
}

}  // namespace

ObjectiveResult EndOptions::loss(const ObjectiveInput& input) const {
  const KeyedRows all = keyed_rows(input, kName);
  require_labels(input, kName, "the choice of pairs");
  if (!input.bias.defined()) throw usage_error("{}: needs bias labels; none were given", kName);
  const at::Tensor known = all.bias.ge(0).nonzero().squeeze(1);
  const KeyedRows rows = all.picked(known);
  refuse_blocked(input, kName);
  const bool fused = input.engine != Engine::kDense;
  ObjectiveResult result = fused ? evaluated<GroupedPairs>(rows, *this) : evaluated<DensePairs>(rows, *this);
  const bool used = result.clamped < 2;
  const at::Tensor own = result.value.detach().expand({known.size(0)});
  result.per_anchor = at::full({all.z.size(0)}, std::numeric_limits<double>::quiet_NaN(), all.z.options());
  if (used) result.per_anchor.index_copy_(0, known, own);
  result.anchors = all.z.size(0);
  result.anchors_used = used ? known.size(0) : 0;
  result.engine = fused ? Engine::kFused : Engine::kDense;
  return result;
}

}  // namespace debias
