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
  at::Tensor sum;    // 0-d; for R_perp the sum over bias labels of its absolute value
  at::Tensor count;  // 0-d, double
};

at::Tensor sums_by(const at::Tensor& keys, const at::Tensor& z) {  // [K, D + 1]: the last column counts rows
  const auto [groups, index] = at::_unique(keys, true, true);
  const at::Tensor rows = at::cat({z, at::ones({z.size(0), 1}, z.options())}, 1);
  return at::zeros({groups.size(0), rows.size(1)}, rows.options()).index_add(0, index, rows);
}

at::Tensor squared_sums(const at::Tensor& sums) { return sums.narrow(1, 0, sums.size(1) - 1).square().sum(1); }
at::Tensor squared_counts(const at::Tensor& sums) { return sums.select(1, -1).detach().square().sum(); }

class GroupedPairs {
 public:
  explicit GroupedPairs(const KeyedRows& all) : rows_(all.picked(all.bias.ge(0).nonzero().squeeze(1))), z_(rows_.z.to(at::kDouble)) {}

  PairTotal one_bias() const {
    const at::Tensor sums = sums_by(rows_.bias, z_), own = sums_by(rows_.bias, z_.square().sum(1, true)).select(1, 0);
    return {((squared_sums(sums) - own) / 2).abs().sum(), (squared_counts(sums) - static_cast<double>(z_.size(0))) / 2};
  }

  PairTotal one_label(bool full_pairs) const {
    const at::Tensor known = rows_.label.ge(0).nonzero().squeeze(1), z = z_.index_select(0, known);
    const KeyedRows rows = rows_.picked(known);
    if (!full_pairs) {
      const at::Tensor count = partner_sums(at::ones({z.size(0), 1}, z.options()), rows.label, rows.bias).sum() / 2;
      return {(z * partner_sums(z, rows.label, rows.bias)).sum() / 2, count};
    }
    const KeyGroups groups = key_groups(rows.label, rows.bias);
    const at::Tensor group_of = at::zeros_like(groups.order).index_copy(0, groups.order, groups.group_of);
    const at::Tensor label = sums_by(rows.label, z), both = sums_by(group_of, z);
    return {(squared_sums(label).sum() - squared_sums(both).sum()) / 2, (squared_counts(label) - squared_counts(both)) / 2};
  }

 private:
  KeyedRows rows_;
  at::Tensor z_;
};

// The host reads nothing.
class DensePairs {
 public:
  explicit DensePairs(const KeyedRows& all) : rows_(all), c_(all.z.mm(all.z.t())) {}

  PairTotal one_bias() const {
    const at::Tensor known = rows_.bias.ge(0).unsqueeze(1), same = rows_.bias.unsqueeze(1).eq(rows_.bias.unsqueeze(0)).logical_and(known);
    const at::Tensor pairs = same.tril(-1), together = same.to(c_.scalar_type());
    // Every row has the sum of its bias label, so each of n rows adds 1/n of it.
    const at::Tensor of_label = together.mm((c_ * pairs).sum(1, true)).abs() / together.sum(1, true).clamp_min(1);
    return {of_label.sum(), pairs.sum().to(at::kDouble)};
  }

  PairTotal one_label(bool full_pairs) const {
    const at::Tensor label = rows_.label.unsqueeze(1), bias = rows_.bias.unsqueeze(1), known = label.ge(0).logical_and(bias.ge(0));
    const at::Tensor same = label.eq(label.t()).logical_and(known).logical_and(known.t()).tril(-1);
    const at::Tensor pairs = same.logical_and(full_pairs ? bias.ne(bias.t()) : bias.lt(bias.t()));
    return {(c_ * pairs).sum(), pairs.sum().to(at::kDouble)};
  }

 private:
  const KeyedRows& rows_;
  at::Tensor c_;
};

template <class Pairs>
ObjectiveResult evaluated(const KeyedRows& rows, const EndOptions& options) {
  const Pairs pairs(rows);
  const PairTotal bias = pairs.one_bias(), label = pairs.one_label(options.full_pairs);
  const auto type = bias.sum.scalar_type();
  const at::Tensor parallel = 0.5 - label.sum / (2 * label.count.clamp_min(1)).to(type);
  const at::Tensor empty = at::stack({bias.count, label.count}).lt(1), no_label = label.count.lt(1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  ObjectiveResult result;
  result.value = bias.sum * (options.alpha / bias.count.clamp_min(1)).to(type);
  result.value = (result.value + (options.beta * parallel).masked_fill(no_label, 0)).to(rows.z.scalar_type());
  result.clamped = LateNumber(empty.sum());
  result.clampable = 2;
  const at::Tensor used = rows.bias.ge(0).logical_and(empty.all().logical_not());
  result.per_anchor = result.value.detach().expand({rows.z.size(0)}).where(used, nan);
  result.anchors = rows.z.size(0);
  result.anchors_used = LateNumber(used.sum());
  return result;
}

}  // namespace

ObjectiveResult EndOptions::loss(const ObjectiveInput& input) const {
  const KeyedRows rows = keyed_rows(input, kName);
  require_labels(input, kName, "the choice of pairs");
  if (!input.bias.defined()) throw usage_error("{}: needs bias labels; none were given", kName);
  refuse_blocked(input, kName);
  const bool fused = input.engine != Engine::kDense && !spares_waits(input);
  ObjectiveResult result = fused ? evaluated<GroupedPairs>(rows, *this) : evaluated<DensePairs>(rows, *this);
  result.engine = fused ? Engine::kFused : Engine::kDense;
  return result;
}

}  // namespace debias
