#include "debias/losses/fairkl.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "debias/core/error.h"
#include "debias/losses/bias_features.h"
#include "debias/losses/fairkl_moments.h"
#include "debias/losses/objective_entry.h"
#include "debias/losses/two_view.h"

namespace debias {
namespace {

constexpr char kFairklName[] = "fairkl";
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
struct Comparison {
  at::Tensor value;  // finite everywhere
  at::Tensor used;   // bool
  LateNumber acted;
};

class Comparer {
 public:
  Comparer(const FairKlOptions& options, bool weighted) : options_(options), mode_(options.mode()) {
    zero_ = options.empty() == FairKlEmpty::kZero || (options.empty() == FairKlEmpty::kAuto && mode_ == FairKlMode::kAuthors);
    const bool two = options.pooling() == FairKlPooling::kAnchor && mode_ != FairKlMode::kMean && !zero_;
    least_ = weighted ? kLeastWeight : two ? 2 : 1;
    // The floor is one of variances of d, the moments are those of c; ln d is compared as it is.
    const double unit = mode_ == FairKlMode::kLogNormal ? 1 : kDistanceSquared;
    floor_ = std::max(options.variance_floor(), kLeastVariance) / unit;
    empty_mean_ = mode_ == FairKlMode::kLogNormal ? std::log(2 + kDistanceOffset) : 0;
  }

  Comparison operator()(FairKlMoments aligned, FairKlMoments conflicting, bool positive) const {
    const at::Tensor small_aligned = aligned.weight.lt(least_), small_conflicting = conflicting.weight.lt(least_);
    Comparison result;
    result.used = zero_ ? at::ones_like(small_aligned) : small_aligned.logical_or(small_conflicting).logical_not();
    result.acted = prepare(aligned, small_aligned, result.used);
    result.acted += prepare(conflicting, small_conflicting, result.used);
    result.value = value(aligned, conflicting, positive);
    return result;
  }

 private:
  // Replaces what an empty set cannot have and floors variances; how many sets that was.
  LateNumber prepare(FairKlMoments& set, const at::Tensor& small, const at::Tensor& used) const {
    set.mean = set.mean.masked_fill(small, empty_mean_);
    set.variance = set.variance.masked_fill(small, 0);
    if (set.zero_filled.defined()) set.zero_filled = set.zero_filled.masked_fill(small, 0);
    at::Tensor acts = small;
    if (has_floor(mode_)) {
      acts = acts.logical_or(set.variance.lt(floor_).logical_and(used));
      set.variance = set.variance.clamp_min(floor_);
    }
    return LateNumber(acts.sum());
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
        return kDistanceSquared * (means + options_.kld() * (deviation(a.variance) - deviation(c.variance)).square());
      case FairKlMode::kAuthors:
        break;
    }
    const at::Tensor deviations = deviation(a.zero_filled) - deviation(c.zero_filled);
    return means + options_.kld() * deviations.square() + (positive ? -c.mean : a.mean);
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

Parts together(const Comparison& positive, const Comparison& negative) {
  Parts parts;
  parts.used = positive.used.logical_or(negative.used);
  const double all = static_cast<double>(parts.used.sum().item<int64_t>());
  parts.by_anchor = at::zeros_like(positive.value);
  for (const Comparison* sign : {&positive, &negative}) {
    const double own = std::max(static_cast<double>(sign->used.sum().item<int64_t>()), 1.0);
    const at::Tensor values = sign->value.where(sign->used, 0);
    parts.value = parts.value.defined() ? parts.value + values.sum() / own : values.sum() / own;
    parts.by_anchor = parts.by_anchor + values.detach() * (all / own);
  }
  return parts;
}

// The rows that are in pairs at all.
at::Tensor known_rows(const KeyedRows& rows, bool weighted) {
  const at::Tensor known = weighted ? rows.label.ge(0) : rows.label.ge(0).logical_and(rows.bias.ge(0));
  return known.nonzero().squeeze(1);
}

void check_engine(const ObjectiveInput& input, const FairKlOptions& options, bool weighted) {
  refuse_blocked(input, kFairklName);
  if (input.engine != Engine::kFused || (!weighted && options.mode() != FairKlMode::kLogNormal)) return;
  throw usage_error("{}: {} needs every pair, but the fused backend sums over groups; give engine dense or auto", kFairklName,
                    weighted ? "a continuous bias" : "mode lognormal");
}

// Groups cost n D^2 and a D x D matrix each, with its gradient; pairs cost n^2 D.
bool by_groups(const ObjectiveInput& input, const KeyedRows& rows, const RowGroups& groups) {
  if (input.engine == Engine::kFused || input.engine == Engine::kDense) return input.engine == Engine::kFused;
  const int64_t n = rows.z.size(0), d = rows.z.size(1);
  return n >= d && static_cast<int64_t>(groups.sizes.size() * 2 * sizeof(double)) * d * d <= input.memory_budget;
}

}  // namespace

const OptionTable<FairKlOptions>& FairKlOptions::table() {
  using Self = FairKlOptions;
  static const auto table =
      OptionTable<Self>()
          .add_dependent<FairKlMode>(
              "mode", [](const Self& options) { return options.mode(); }, [](Self& options, FairKlMode mode) { options.mode(mode); },
              "comparison of two sets of pairs (default with pooling anchor: mean); kl is the paper's and trained worse than no "
              "regulariser")
          .add("kld", &Self::kld_, Range::at_least(0), "weight of the deviations in modes stats and authors")
          .add("pooling", &Self::pooling_, "sets of pairs of the whole batch, or of each anchor")
          .add("empty", &Self::empty_,
               "handling of an empty set: skip its sign (positive or negative pairs), or give the set a mean cosine of 0")
          .add("variance_floor", &Self::variance_floor_, Range::at_least(0),
               "minimum variance of squared distances in kl, jeffreys, lognormal")
          .add("normaliser", &Self::normaliser_,
               "divisor of the moments with a continuous bias: sum of the weights, or number of embeddings")
          .with_variants()
          .variant("paper", "mode", "kl")
          .variant("paper", "pooling", "anchor")
          .variant("paper", "normaliser", "batch")
          .variant("authors", "mode", "authors")
          .check([](const Self& options, const std::string& what) {
            if (options.mode() == FairKlMode::kAuthors && options.pooling() == FairKlPooling::kAnchor) {
              throw usage_error("{}: mode authors pools over the batch; give pooling batch or another mode", what);
            }
            if (options.kld() != 1 && options.mode() != FairKlMode::kStats && options.mode() != FairKlMode::kAuthors) {
              throw usage_error("{}: kld weighs the deviations of modes stats and authors, mode {} has none; leave it at 1", what,
                                enum_name(options.mode()));
            }
          });
  return table;
}

namespace {

ObjectiveResult computed(const ObjectiveInput& input, const FairKlOptions& options) {
  const KeyedRows all = keyed_rows(input, kFairklName);
  const bool weighted = input.weights.defined();
  check_engine(input, options, weighted);
  require_labels(input, kFairklName, "the choice of pairs");
  if (!weighted && !input.bias.defined()) throw usage_error("{}: needs bias labels or weights; none were given", kFairklName);
  const at::Tensor known = known_rows(all, weighted);
  const KeyedRows rows = all.picked(known);

  const FairKlMomentRequest request = {.by_anchor = options.pooling() == FairKlPooling::kAnchor,
                                       .self_pairs = options.mode() == FairKlMode::kAuthors,
                                       .log_distances = options.mode() == FairKlMode::kLogNormal,
                                       .zero_filled = options.mode() == FairKlMode::kAuthors,
                                       .divide_by_rows = weighted && options.normaliser() == FairKlNormaliser::kBatch};
  ObjectiveResult result;
  const at::Tensor features =
      weighted ? unit_bias_features(input, kFairklName).repeat({input.z.size(1), 1}).index_select(0, known) : at::Tensor();
  const RowGroups groups = weighted || request.log_distances ? RowGroups() : row_groups(rows.label, rows.bias);
  const bool fused = groups.order.defined() && by_groups(input, rows, groups);
  result.engine = fused ? Engine::kFused : Engine::kDense;
  const FairKlSets sets = fused ? group_moments(rows, groups, request) : pair_moments(rows, features, request);

  const Comparer compare(options, weighted);
  const Comparison positive = compare(sets[kPositiveAligned], sets[kPositiveConflicting], true),
                   negative = compare(sets[kNegativeAligned], sets[kNegativeConflicting], false);
  const Parts parts = together(positive, negative);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const at::Tensor own = parts.by_anchor.where(parts.used, nan).to(all.z.scalar_type()).expand({known.size(0)});
  result.value = parts.value.to(all.z.scalar_type());
  result.per_anchor = at::full({all.z.size(0)}, nan, all.z.options().requires_grad(false)).index_copy(0, known, own);
  result.anchors = all.z.size(0);
  result.anchors_used = LateNumber(result.per_anchor.isnan().logical_not().sum());
  result.clamped = positive.acted;
  result.clamped += negative.acted;
  result.mode = enum_name(options.mode());
  result.clampable = 4 * parts.used.size(0);  // sets, of the batch or of each anchor
  return result;
}

std::string fairkl_caution(const FairKlOptions& options) {
  if (options.mode() != FairKlMode::kKl) return "";
  return "mode kl trained worse than no regulariser on Biased-MNIST at every weight tried, unless variance_floor was 0.3 or more; modes "
         "authors and mean gained there";
}

}  // namespace

ObjectiveResult fairkl(const ObjectiveInput& input, const FairKlOptions& options) {
  return computed(input, verified(options, kFairklName));
}

ObjectiveResult fairkl(const at::Tensor& z, const at::Tensor& labels, const at::Tensor& bias, const FairKlOptions& options) {
  return fairkl(ObjectiveInput{.z = z, .labels = labels, .bias = bias}, options);
}

ObjectiveEntry fairkl_entry() {
  ObjectiveEntry entry;
  entry.name = kFairklName;
  entry.summary = "regulariser that equalises distances within and across bias labels (Barbano et al. 2023 eq. 10)";
  entry.kind = InputKind::kRegulariser;
  entry.needs_labels = true;
  entry.takes_bias_features = true;
  return with_options<FairKlOptions>(std::move(entry), computed, {}, fairkl_caution);
}

}  // namespace debias
