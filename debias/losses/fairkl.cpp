#include "debias/losses/fairkl.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "debias/core/error.h"
#include "debias/losses/bias_pairs.h"
#include "debias/losses/comparison.h"
#include "debias/losses/group_moments.h"
#include "debias/losses/objective_entry.h"

namespace debias {
namespace {

// The moments of cosines over the four sets of pairs that FairKL compares.
//
// The sets contain ordered pairs (a, j), a != j, of n rows: positive = same label, negative = different labels, aligned = same bias label,
// conflicting = different ones. With bias features in place of bias labels a pair is in both sets: aligned with weight w_aj = cosine of the
// features clipped to [0, 1], conflicting with 1 - w_aj. Over a set with weights w and values x:
//
//   mean = sum w x / W,   variance = sum w (x - mean)^2 / W,   W = sum w
//
// pair_moments is the definition and holds n x n matrices. group_moments sums by groups of rows and forms no pair.

struct FairKlMoments {
  at::Tensor weight;    // sum of w (number of pairs), [1] over all anchors or [n] by anchor
  at::Tensor mean;      // 0 up to rounding for an empty set
  at::Tensor variance;  // >= 0 up to rounding
  // If requested, the variance of w x over all n^2 pairs, zero outside the set, divided by n^2 - 1; >= 0 up to rounding.
  at::Tensor zero_filled{};
};

// Indices of the sets.
enum FairKlSet { kPositiveAligned, kPositiveConflicting, kNegativeAligned, kNegativeConflicting };
using FairKlSets = std::array<FairKlMoments, 4>;

struct FairKlMomentRequest {
  bool by_anchor = false;
  bool self_pairs = false;      // positive aligned includes the pairs (a, a)
  bool log_distances = false;   // x = ln(2 - 2c + kDistanceOffset) in place of x = c; pair_moments only
  bool zero_filled = false;     // the variance over all pairs as well; not by anchor
  bool divide_by_rows = false;  // W = n for each anchor, n^2 for all; pair_moments only
};

constexpr double kDistanceOffset = 1e-6;
constexpr double kLeastWeight = 1e-6;  // of bias features: a set with a smaller sum is empty

at::Tensor equal_keys(const at::Tensor& keys, const at::Tensor& like) {
  return keys.unsqueeze(1).eq(keys.unsqueeze(0)).to(like.scalar_type());
}

at::Tensor clipped_cosines(const at::Tensor& unit_features, const at::Tensor& like) {
  return unit_features.mm(unit_features.t()).clamp(0, 1).to(like.scalar_type());
}

// The pairs of rows whose keys are known, as 1 and 0, [n, n], and how many rows those are, at least 1. The host reads neither.
struct KnownPairs {
  at::Tensor pairs, rows;

  KnownPairs(const at::Tensor& known, const at::Tensor& like)
      : pairs(known.unsqueeze(1).logical_and(known.unsqueeze(0)).to(like.scalar_type())), rows(known.sum().clamp_min(1).to(at::kDouble)) {}

  // Deviations from the mean over all entries, squared and summed: no difference of large sums.
  at::Tensor variance_of_all(const at::Tensor& entries) const {
    const at::Tensor count = rows.square();
    const at::Tensor deviations = (entries - entries.sum() / count.to(entries.scalar_type())) * pairs;
    return deviations.square().sum().view({1}) / (count - 1).clamp_min(1).to(entries.scalar_type());
  }
};

FairKlMoments weighted_moments(const at::Tensor& x, const at::Tensor& weights, const KnownPairs& known, double least,
                               const FairKlMomentRequest& request) {
  const auto total = [&](const at::Tensor& pairs) { return request.by_anchor ? pairs.sum(1) : pairs.sum().view({1}); };
  FairKlMoments moments;
  moments.weight = total(weights);
  const at::Tensor rows = (request.by_anchor ? known.rows : known.rows.square()).to(x.scalar_type()).view({1});
  const at::Tensor divisor = request.divide_by_rows ? rows : moments.weight.clamp_min(least);
  moments.mean = total(weights * x) / divisor;
  moments.variance = total(weights * (x - moments.mean.unsqueeze(1)).square()) / divisor;
  if (request.zero_filled) moments.zero_filled = known.variance_of_all(weights * x);
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
at::Tensor quadratic_forms(const at::Tensor& z, const at::Tensor& products, const KeyGroups& groups, Merged into) {
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
  GroupSums(const KeyedRows& rows, const KeyGroups& groups, bool by_anchor) : groups_(groups), by_anchor_(by_anchor) {
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
  const KeyGroups& groups_;
  bool by_anchor_;
  at::Tensor z_, sums_, products_;  // products_: M of each group by anchor, else squared_products
};

// `features` is double [n, F] with rows of unit norm; if undefined, rows.bias is used. A row that is not known (bool [n]) is in no pair.
FairKlSets pair_moments(const KeyedRows& rows, const at::Tensor& known_rows, const at::Tensor& features,
                        const FairKlMomentRequest& request) {
  const KnownPairs known(known_rows, rows.z);
  const at::Tensor cosines = rows.z.mm(rows.z.t());
  const at::Tensor x = request.log_distances ? (2 - 2 * cosines).clamp_min(0).add(kDistanceOffset).log() : cosines;
  const at::Tensor aligned = features.defined() ? clipped_cosines(features, rows.z) : equal_keys(rows.bias, rows.z);
  const at::Tensor conflicting = 1 - aligned, same = equal_keys(rows.label, rows.z) * known.pairs, other = known.pairs - same;
  if (!request.self_pairs) same.fill_diagonal_(0);
  const double least = features.defined() ? kLeastWeight : 1;
  const auto moments = [&](const at::Tensor& weights) { return weighted_moments(x, weights, known, least, request); };
  return {moments(same * aligned), moments(same * conflicting), moments(other * aligned), moments(other * conflicting)};
}

// Computes in double for any dtype of the rows. Holds a D x D matrix of doubles for each non-empty (label, bias) group.
FairKlSets group_moments(const KeyedRows& rows, const KeyGroups& groups, const FairKlMomentRequest& request) {
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

constexpr double kLeastVariance = 1e-12;  // of d, under any variance_floor
constexpr double kNoDeviation = 1e-14;    // a variance of cosines up to this is the rounding of none; its root has no gradient
constexpr double kDistanceSquared = 4;    // d = 2 - 2c: means differ by twice, variances and squares by four times those of c

bool has_floor(FairKlMode mode) { return mode == FairKlMode::kKl || mode == FairKlMode::kJeffreys || mode == FairKlMode::kLogNormal; }

at::Tensor divergence(const FairKlMoments& a, const FairKlMoments& c) {
  return ((a.variance + (a.mean - c.mean).square()) / c.variance - (a.variance / c.variance).log() - 1) / 2;
}

at::Tensor deviation(const at::Tensor& variance) {
  const at::Tensor some = variance.gt(kNoDeviation);
  return variance.where(some, 1).sqrt().where(some, 0);
}

// D of one sign, for all anchors together [1] or for each [n].
struct Compared {
  at::Tensor value;  // finite everywhere
  at::Tensor used;   // bool
  LateNumber acted;
};

class Comparer {
 public:
  Comparer(const FairKlOptions& options, bool weighted) : options_(options), mode_(options.chosen_mode()) {
    zero_ = options.empty == FairKlEmpty::kZero || (options.empty == FairKlEmpty::kAuto && mode_ == FairKlMode::kAuthors);
    const bool two = options.pooling == FairKlPooling::kAnchor && mode_ != FairKlMode::kMean && !zero_;
    least_ = weighted ? kLeastWeight : two ? 2 : 1;
    // The floor is one of variances of d, the moments are those of c; ln d is compared as it is.
    const double unit = mode_ == FairKlMode::kLogNormal ? 1 : kDistanceSquared;
    floor_ = std::max(options.variance_floor, kLeastVariance) / unit;
    empty_mean_ = mode_ == FairKlMode::kLogNormal ? std::log(2 + kDistanceOffset) : 0;
  }

  // `anchors`: bool [1] or [n], which there are.
  Compared operator()(FairKlMoments aligned, FairKlMoments conflicting, const at::Tensor& anchors, bool positive) const {
    const at::Tensor small_aligned = aligned.weight.lt(least_), small_conflicting = conflicting.weight.lt(least_);
    Compared result;
    result.used = zero_ ? anchors : small_aligned.logical_or(small_conflicting).logical_not().logical_and(anchors);
    result.acted = prepare(aligned, small_aligned, result.used, anchors);
    result.acted += prepare(conflicting, small_conflicting, result.used, anchors);
    result.value = value(aligned, conflicting, positive);
    return result;
  }

 private:
  // Replaces what an empty set cannot have and floors variances; how many sets that was.
  LateNumber prepare(FairKlMoments& set, const at::Tensor& small, const at::Tensor& used, const at::Tensor& anchors) const {
    set.mean = set.mean.masked_fill(small, empty_mean_);
    set.variance = set.variance.masked_fill(small, 0);
    if (set.zero_filled.defined()) set.zero_filled = set.zero_filled.masked_fill(small, 0);
    at::Tensor acts = small;
    if (has_floor(mode_)) {
      acts = acts.logical_or(set.variance.lt(floor_).logical_and(used));
      set.variance = set.variance.clamp_min(floor_);
    }
    return LateNumber(acts.logical_and(anchors).sum());
  }

  at::Tensor value(const FairKlMoments& a, const FairKlMoments& c, bool positive) const {
    const at::Tensor means = (a.mean - c.mean).square();
    switch (mode_) {
      case FairKlMode::kKl:
      case FairKlMode::kLogNormal:
        return divergence(a, c);
      case FairKlMode::kJeffreys:
        return divergence(a, c) + divergence(c, a);
      case FairKlMode::kMean:
        return kDistanceSquared * means;
      case FairKlMode::kStats:
        return kDistanceSquared * (means + options_.kld * (deviation(a.variance) - deviation(c.variance)).square());
      case FairKlMode::kAuthors:
        break;
    }
    const at::Tensor deviations = deviation(a.zero_filled) - deviation(c.zero_filled);
    return means + options_.kld * deviations.square() + (positive ? -c.mean : a.mean);
  }

  FairKlOptions options_;
  FairKlMode mode_;
  bool zero_;
  double least_, floor_, empty_mean_;
};

struct Parts {
  at::Tensor value;      // 0-d
  at::Tensor by_anchor;  // [1] or [n]: its mean over anchors in use is the value
  at::Tensor used;       // bool, as by_anchor
};

Parts together(const Compared& positive, const Compared& negative) {
  Parts parts;
  parts.used = positive.used.logical_or(negative.used);
  const at::Tensor all = parts.used.sum().to(at::kDouble);
  parts.by_anchor = at::zeros_like(positive.value);
  for (const Compared* sign : {&positive, &negative}) {
    const at::Tensor own = sign->used.sum().clamp_min(1).to(at::kDouble), values = sign->value.where(sign->used, 0);
    const at::Tensor mean = values.sum() / own.to(values.scalar_type());
    parts.value = parts.value.defined() ? parts.value + mean : mean;
    parts.by_anchor = parts.by_anchor + values.detach() * (all / own).to(values.scalar_type());
  }
  return parts;
}

// bool [n]: the rows that are in pairs at all.
at::Tensor known_rows(const KeyedRows& rows, bool weighted) {
  return weighted ? rows.label.ge(0) : rows.label.ge(0).logical_and(rows.bias.ge(0));
}

void check_engine(const ObjectiveInput& input, const FairKlOptions& options, bool weighted) {
  refuse_blocked(input, FairKlOptions::kName);
  if (input.engine != Engine::kFused || (!weighted && options.chosen_mode() != FairKlMode::kLogNormal)) return;
  throw usage_error("{}: {} needs every pair, but the fused backend sums over groups; give engine dense or auto", FairKlOptions::kName,
                    weighted ? "a continuous bias" : "mode lognormal");
}

// Groups cost n D^2 and a D x D matrix each, with its gradient; pairs cost n^2 D. `rows` are the known ones.
bool by_groups(const ObjectiveInput& input, const KeyedRows& rows, const KeyGroups& groups) {
  if (input.engine == Engine::kFused || input.engine == Engine::kDense) return input.engine == Engine::kFused;
  const int64_t n = rows.z.size(0), d = rows.z.size(1);
  return n >= d && static_cast<int64_t>(groups.sizes.size() * 2 * sizeof(double)) * d * d <= input.memory_budget;
}

}  // namespace

void FairKlOptions::describe(OptionVisitor& o) {
  o.dependent("mode", mode, chosen_mode(),
              "comparison of two sets of pairs (default with pooling anchor: mean); kl is the paper's and trained worse than no "
              "regulariser");
  o("kld", kld, Range::at_least(0), "weight of the deviations in modes stats and authors");
  o("pooling", pooling, "sets of pairs of the whole batch, or of each anchor");
  o("empty", empty, "handling of an empty set: skip its sign (positive or negative pairs), or give the set a mean cosine of 0");
  o("variance_floor", variance_floor, Range::at_least(0), "minimum variance of squared distances in kl, jeffreys, lognormal");
  o("normaliser", normaliser, "divisor of the moments with a continuous bias: sum of the weights, or number of embeddings");
  o.with_variants();
  o.variant("paper", "mode", "kl");
  o.variant("paper", "pooling", "anchor");
  o.variant("paper", "normaliser", "batch");
  o.variant("authors", "mode", "authors");
  o.check([this](const std::string& what) {
    if (chosen_mode() == FairKlMode::kAuthors && pooling == FairKlPooling::kAnchor) {
      throw usage_error("{}: mode authors pools over the batch; give pooling batch or another mode", what);
    }
    if (kld != 1 && chosen_mode() != FairKlMode::kStats && chosen_mode() != FairKlMode::kAuthors) {
      throw usage_error("{}: kld weighs the deviations of modes stats and authors, mode {} has none; leave it at 1", what,
                        enum_name(chosen_mode()));
    }
  });
}

ObjectiveResult FairKlOptions::loss(const ObjectiveInput& input) const {
  const KeyedRows all = keyed_rows(input, kName);
  const bool weighted = input.weights.defined();
  check_engine(input, *this, weighted);
  require_labels(input, kName, "the choice of pairs");
  if (!weighted && !input.bias.defined()) throw usage_error("{}: needs bias labels or weights; none were given", kName);
  const at::Tensor known = known_rows(all, weighted);

  const FairKlMomentRequest request = {.by_anchor = pooling == FairKlPooling::kAnchor,
                                       .self_pairs = chosen_mode() == FairKlMode::kAuthors,
                                       .log_distances = chosen_mode() == FairKlMode::kLogNormal,
                                       .zero_filled = chosen_mode() == FairKlMode::kAuthors,
                                       .divide_by_rows = weighted && normaliser == FairKlNormaliser::kBatch};
  ObjectiveResult result;
  at::Tensor picked;  // int64: the known rows, which sums by groups are over
  KeyedRows rows;
  KeyGroups groups;
  if (!weighted && !request.log_distances && !spares_waits(input)) {
    picked = known.nonzero().squeeze(1);
    rows = all.picked(picked);
    groups = key_groups(rows.label, rows.bias);
  }
  const bool fused = picked.defined() && by_groups(input, rows, groups);
  result.engine = fused ? Engine::kFused : Engine::kDense;
  const at::Tensor features = weighted ? unit_bias_features(input, kName).repeat({input.z.size(1), 1}) : at::Tensor();
  const FairKlSets sets = fused ? group_moments(rows, groups, request) : pair_moments(all, known, features, request);

  const Comparer compare(*this, weighted);
  const at::Tensor anchors = request.by_anchor && !fused ? known : at::ones_like(sets[kPositiveAligned].weight, at::kBool);
  const Compared positive = compare(sets[kPositiveAligned], sets[kPositiveConflicting], anchors, true),
                 negative = compare(sets[kNegativeAligned], sets[kNegativeConflicting], anchors, false);
  const Parts parts = together(positive, negative);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const at::Tensor own = parts.by_anchor.where(parts.used, nan).to(all.z.scalar_type());
  result.value = parts.value.to(all.z.scalar_type());
  result.per_anchor =
      fused ? at::full({all.z.size(0)}, nan, all.z.options().requires_grad(false)).index_copy(0, picked, own.expand({picked.size(0)}))
            : own.expand({all.z.size(0)}).where(known, nan);
  result.anchors = all.z.size(0);
  result.anchors_used = LateNumber(result.per_anchor.isnan().logical_not().sum());
  result.clamped = positive.acted;
  result.clamped += negative.acted;
  result.mode = enum_name(chosen_mode());
  result.clampable = request.by_anchor ? 4 * all.z.size(0) : 4;  // sets
  return result;
}

std::string FairKlOptions::caution() const {
  if (chosen_mode() != FairKlMode::kKl) return "";
  return "mode kl trained worse than no regulariser on Biased-MNIST at every weight tried, unless variance_floor was 0.3 or more; modes "
         "authors and mean gained there";
}

}  // namespace debias
