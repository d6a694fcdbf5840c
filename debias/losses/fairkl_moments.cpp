#include "debias/losses/fairkl_moments.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace debias {
namespace {

at::Tensor equal_keys(const at::Tensor& keys, const at::Tensor& like) {
  return keys.unsqueeze(1).eq(keys.unsqueeze(0)).to(like.scalar_type());
}

at::Tensor clipped_cosines(const at::Tensor& unit_features, const at::Tensor& like) {
  return unit_features.mm(unit_features.t()).clamp(0, 1).to(like.scalar_type());
}

// Deviations from the mean over all entries, squared and summed: no difference of large sums.
at::Tensor variance_of_all(const at::Tensor& entries) {
  const at::Tensor squares = (entries - entries.mean()).square().sum().view({1});
  return squares / std::max(static_cast<double>(entries.numel()) - 1, 1.0);
}

FairKlMoments weighted_moments(const at::Tensor& x, const at::Tensor& weights, double least, const FairKlMomentRequest& request) {
  const auto total = [&](const at::Tensor& pairs) { return request.by_anchor ? pairs.sum(1) : pairs.sum().view({1}); };
  const double rows = static_cast<double>(x.size(0));
  FairKlMoments moments;
  moments.weight = total(weights);
  const at::Tensor divisor =
      request.divide_by_rows ? at::full_like(moments.weight, request.by_anchor ? rows : rows * rows) : moments.weight.clamp_min(least);
  moments.mean = total(weights * x) / divisor;
  moments.variance = total(weights * (x - moments.mean.unsqueeze(1)).square()) / divisor;
  if (request.zero_filled) moments.zero_filled = variance_of_all(weights * x);
  return moments;
}

// Sums over ordered pairs of the number of pairs, c and c^2: [1], or [n] by anchor.
struct PairSums {
  at::Tensor count, first, second;

  PairSums operator-(const PairSums& other) const { return {count - other.count, first - other.first, second - other.second}; }
  PairSums operator+(const PairSums& other) const { return {count + other.count, first + other.first, second + other.second}; }

  FairKlMoments moments() const {
    const at::Tensor divisor = count.clamp_min(1), mean = first / divisor;
    return {count, mean, second / divisor - mean.square()};
  }

  // Variance of a set in which a pair weighs 1, from its own moments: without a difference of large sums.
  static at::Tensor zero_filled(const FairKlMoments& set, double pairs) {
    return set.weight * (set.variance + set.mean.square() * (1 - set.weight / std::max(pairs, 1.0))) / std::max(pairs - 1, 1.0);
  }
};

// z_a^T M z_a of each row with the M of its own group, without a copy of M for each group.
at::Tensor quadratic_forms(const at::Tensor& z, const at::Tensor& products, const RowGroups& groups, Merged into) {
  if (groups.sizes.empty()) return z.sum(1);
  const std::vector<at::Tensor> matrices = products.unbind(0), runs = z.split_with_sizes(groups.sizes, 0);
  const at::Tensor places = place_of(groups, into).cpu();
  std::vector<at::Tensor> forms;
  for (size_t g = 0; g < runs.size(); ++g) {
    forms.push_back((runs[g].mm(matrices[places.data_ptr<int64_t>()[g]]) * runs[g]).sum(1));
  }
  return at::cat(forms);
}

class GroupSums {
 public:
  GroupSums(const KeyedRows& rows, const RowGroups& groups, bool by_anchor) : groups_(groups), by_anchor_(by_anchor) {
    z_ = rows.z.index_select(0, groups_.order).to(at::kDouble);
    sums_ = at::zeros({groups_.label.size(0), z_.size(1)}, z_.options()).index_add(0, groups_.group_of, z_);
    products_ = by_anchor ? outer_products(z_, groups_.sizes) : squared_products(z_, groups_);
  }

  // Over the pairs of rows, self pairs with them, that `into` puts together.
  PairSums together(Merged into) const {
    const at::Tensor counts = merged(groups_.counts, groups_, into), sums = merged(sums_, groups_, into);
    if (!by_anchor_)
      return {counts.square().sum().view({1}), sums.square().sum().view({1}), products_.narrow(0, static_cast<int64_t>(into), 1)};
    const at::Tensor products = merged(products_, groups_, into);
    const at::Tensor place = place_of(groups_, into).index_select(0, groups_.group_of);
    return {counts.index_select(0, place), (z_ * sums.index_select(0, place)).sum(1), quadratic_forms(z_, products, groups_, into)};
  }

  PairSums self_pairs() const {
    const at::Tensor norms = z_.square().sum(1);
    if (by_anchor_) return {at::ones_like(norms), norms, norms.square()};
    return {at::full({1}, norms.size(0), norms.options()), norms.sum().view({1}), norms.square().sum().view({1})};
  }

  PairSums in_order_given(const PairSums& sums) const {
    if (!by_anchor_) return sums;
    const at::Tensor back = groups_.order.argsort();
    return {sums.count.index_select(0, back), sums.first.index_select(0, back), sums.second.index_select(0, back)};
  }

 private:
  const RowGroups& groups_;
  bool by_anchor_;
  at::Tensor z_, sums_, products_;  // products_: M of each group by anchor, else squared_products
};

}  // namespace

FairKlSets pair_moments(const KeyedRows& rows, const at::Tensor& features, const FairKlMomentRequest& request) {
  const at::Tensor cosines = rows.z.mm(rows.z.t());
  const at::Tensor x = request.log_distances ? (2 - 2 * cosines).clamp_min(0).add(kDistanceOffset).log() : cosines;
  const at::Tensor aligned = features.defined() ? clipped_cosines(features, rows.z) : equal_keys(rows.bias, rows.z);
  const at::Tensor conflicting = 1 - aligned, same = equal_keys(rows.label, rows.z), other = 1 - same;
  if (!request.self_pairs) same.fill_diagonal_(0);
  const double least = features.defined() ? kLeastWeight : 1;
  return {weighted_moments(x, same * aligned, least, request), weighted_moments(x, same * conflicting, least, request),
          weighted_moments(x, other * aligned, least, request), weighted_moments(x, other * conflicting, least, request)};
}

FairKlSets group_moments(const KeyedRows& rows, const RowGroups& groups, const FairKlMomentRequest& request) {
  const GroupSums sums(rows, groups, request.by_anchor);
  const PairSums both = sums.together(Merged::kGroups), label = sums.together(Merged::kLabels), bias = sums.together(Merged::kBiases),
                 all = sums.together(Merged::kAll);
  const double pairs = static_cast<double>(rows.z.size(0)) * static_cast<double>(rows.z.size(0));
  const auto moments = [&](const PairSums& set) {
    FairKlMoments own = sums.in_order_given(set).moments();
    if (request.zero_filled) own.zero_filled = PairSums::zero_filled(own, pairs);
    return own;
  };
  return {moments(request.self_pairs ? both : both - sums.self_pairs()), moments(label - both), moments(bias - both),
          moments(all - label - bias + both)};
}

}  // namespace debias
