#include "debias/losses/comparison.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "debias/core/error.h"

namespace debias {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

at::Tensor row_dot(const at::Tensor& a, const at::Tensor& b) { return (a * b).sum(-1); }

std::string shape_of(const at::Tensor& tensor) {
  return fmt::format("{} of shape {}", c10::toString(tensor.scalar_type()), c10::str(tensor.sizes()));
}

at::Tensor checked_integers(const at::Tensor& of, int64_t count, const at::Device& device, const char* what, const char* per,
                            const char* objective) {
  if (!of.defined()) return of;
  if (of.scalar_type() != at::kLong || of.dim() != 1 || of.size(0) != count) {
    throw data_error("{}: {}: expected int64 of shape [{}], one per {}, found {}", objective, what, count, per, shape_of(of));
  }
  return of.to(device);
}

at::Tensor samples_of(const ObjectiveInput& input) {  // int64 [B]
  if (input.samples.defined()) return input.samples;
  return at::arange(input.z.size(0), at::TensorOptions(at::kLong).device(input.z.device()));
}

// Data error unless keys, their samples and labels, the positives and `self` fit z, or if there are positives without keys. Converts keys
// and positives to the dtype of z.
void check_keys_of(ObjectiveInput& input, const char* objective) {
  const at::Tensor& z = input.z;
  if (!input.keys.defined()) {
    if (input.positives.defined()) throw usage_error("{}: positives are given with keys, and no keys were given", objective);
    return;
  }
  const at::Tensor& keys = input.keys;
  if (keys.dim() != 2 || keys.size(1) != z.size(2) || keys.size(0) == 0 || !keys.is_floating_point()) {
    throw data_error("{}: keys: expected floating-point rows of shape [keys, {}], as many dimensions as the anchors have, found {}",
                     objective, z.size(2), shape_of(keys));
  }
  if (keys.device() != z.device()) {
    throw data_error("{}: keys: they are on {}, the anchors on {}; bring both to one", objective, keys.device().str(), z.device().str());
  }
  const int64_t m = keys.size(0), n = z.size(0) * z.size(1);
  input.key_samples = checked_integers(input.key_samples, m, z.device(), "samples of keys", "key", objective);
  input.key_labels = checked_integers(input.key_labels, m, z.device(), "labels of keys", "key", objective);
  if (input.self && (*input.self < 0 || *input.self > m - n)) {
    throw data_error("{}: keys: {} anchors from key {} on exceed the {} keys", objective, n, *input.self, m);
  }
  input.keys = keys.to(z.scalar_type());
  if (!input.positives.defined()) return;
  const at::Tensor& positives = input.positives;
  if (positives.dim() != 3 || positives.size(0) != z.size(0) || positives.size(1) == 0 || positives.size(2) != z.size(2) ||
      !positives.is_floating_point()) {
    throw data_error("{}: positives: expected floating-point rows of shape [{}, positives, {}], found {}", objective, z.size(0), z.size(2),
                     shape_of(positives));
  }
  input.positives = positives.to(z.scalar_type());
}

// The input with all rows in float32 or float64.
ObjectiveInput checked(const ObjectiveInput& input, bool needs_views, const char* objective) {
  require_embeddings(input.z, objective);
  if (needs_views && input.z.size(1) < 2 && !input.keys.defined()) {
    throw usage_error("{}: needs at least 2 views of each sample, or keys to compare them with; found {} view and no keys", objective,
                      input.z.size(1));
  }
  ObjectiveInput converted = input;
  if (input.z.scalar_type() != at::kDouble) converted.z = input.z.to(at::kFloat);
  converted.bfloat16_products |= input.z.scalar_type() == at::kBFloat16;
  converted.engines = std::make_shared<EngineRecord>(input.engine);
  check_keys_of(converted, objective);
  return converted;
}

// The input's keys, and both in groups of one sample or one class. A key without a sample has a group of its own.
void set_keys(Rows& rows, const ObjectiveInput& input, bool by_class, const char* objective) {
  const PairKeys own = pair_keys(input, 1, objective);
  const int64_t views = input.z.size(1), n = input.z.size(0) * views;
  rows.keys = input.keys;
  rows.self = input.self;
  at::Tensor of_keys = at::arange(input.keys.size(0), own.sample.options()) + own.sample.max() + 1;
  if (input.key_samples.defined()) {
    of_keys = input.key_samples.where(input.key_samples.ge(0), of_keys + input.key_samples.max().clamp_min(0) + 1);
  }
  at::Tensor groups = at::cat({own.sample.repeat({views}), of_keys});
  if (by_class) groups = class_groups(at::cat({own.label.repeat({views}), input.key_labels}), groups);
  rows.group = groups.slice(0, 0, n);
  rows.key_group = groups.slice(0, n);
}

Rows ungrouped(const ObjectiveInput& input, const at::Tensor& anchors, double temperature) {
  return {.anchors = anchors,
          .group = {},
          .temperature = temperature,
          .within_unit = input.vouched,
          .engine = input.engine,
          .memory_budget = input.memory_budget,
          .bfloat16_products = input.bfloat16_products,
          .share = input.row_share,
          .engines = input.engines};
}

at::Tensor groups_of(const PairKeys& keys, bool by_class) { return by_class ? class_groups(keys.label, keys.sample) : keys.sample; }

void require_positives(const at::Tensor& count, const ObjectiveInput& input, const char* objective) {
  const at::Tensor none = count.eq(0).nonzero();
  if (none.size(0) == 0) return;
  const int64_t row = none[0][0].item<int64_t>(), sample = row % input.z.size(0);
  throw data_error(
      "{}: keys: none is of the sample of anchor {} (sample {}), so it has no positive ({} of {} anchors have none); give positives, "
      "or keys with their samples",
      objective, row, samples_of(input)[sample].item<int64_t>(), none.size(0), count.size(0));
}

void require_one_positive(const ObjectiveInput& input, const char* objective) {
  if (!input.positives.defined() || input.positives.size(1) == 1) return;
  throw usage_error("{}: takes one positive of each sample beside keys, found {}; give one, or the keys with their samples", objective,
                    input.positives.size(1));
}

// For objectives over classes: puts the positives before the keys, with the samples and labels of their anchors.
ObjectiveInput with_positives_as_keys(const ObjectiveInput& input) {
  if (!input.positives.defined()) return input;
  const int64_t each = input.positives.size(1);
  const at::Tensor samples = samples_of(input);
  ObjectiveInput all = input;
  all.keys = at::cat({input.positives.reshape({-1, input.positives.size(2)}), input.keys});
  all.key_samples = at::cat({samples.repeat_interleave(each),
                             input.key_samples.defined() ? input.key_samples : at::full({input.keys.size(0)}, -1, samples.options())});
  if (input.labels.defined() && input.key_labels.defined()) {
    all.key_labels = at::cat({input.labels.repeat_interleave(each), input.key_labels});
  }
  if (input.self) all.self = *input.self + each * input.z.size(0);
  all.positives = at::Tensor();
  return all;
}

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

ObjectiveResult joined(const std::vector<ObjectiveResult>& parts, double share) {
  ObjectiveResult all = parts.front();
  all.clampable = all.clamped_of();
  std::vector<at::Tensor> per_anchor = {all.per_anchor};
  for (size_t i = 1; i < parts.size(); ++i) {
    const ObjectiveResult& part = parts[i];
    all.value = all.value + part.value;
    per_anchor.push_back(part.per_anchor);
    all.anchors += part.anchors;
    all.anchors_used += part.anchors_used;
    all.clamped += part.clamped;
    all.clampable += part.clamped_of();
    keep_smallest(all.min_estimate, part.min_estimate);
    if (part.effective_sample_size) *all.effective_sample_size += *part.effective_sample_size;
  }
  all.value = all.value * share;
  all.per_anchor = at::cat(per_anchor);
  if (all.effective_sample_size) all.effective_sample_size = all.effective_sample_size->over(static_cast<double>(parts.size()));
  return all;
}

AnchorLosses losses_against(const at::Tensor& log_negatives, const at::Tensor& positive) {
  return {.loss = log_one_plus_exp(log_negatives - positive)};
}

AnchorLosses no_negatives(const at::Tensor& positive) { return {.loss = positive * 0}; }

LateNumber smallest_estimate(const at::Tensor& estimate, const at::Tensor& shift) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  const at::Tensor scaled = estimate.detach().to(at::kDouble) * shift.to(at::kDouble).exp().clamp_max(kLargest);
  return LateNumber(scaled.min().clamp(-kLargest, kLargest));
}

at::Tensor log_one_plus_exp(const at::Tensor& x) { return at::softplus(x, 1, 80); }

at::Tensor Anchors::sum_of_kept() const { return log_kept.defined() ? log_kept : log_sums({{}})[0]; }

AnchorLosses biased_losses(const Anchors& anchors) {
  return anchors.negatives == 0 ? no_negatives(anchors.positive) : losses_against(anchors.sum_of_kept(), anchors.positive);
}

double Anchors::exponential_slack(double multiplier) const {
  const bool wide = positive.scalar_type() == at::kDouble;
  const double epsilon = wide ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  return std::min(0.5, 8 * epsilon * (1 + 1 / (temperature / multiplier)));
}

// Two views of the input, or rows with the same number of negatives.
struct BatchComparison::Part {
  ObjectiveInput input;
  int64_t first = 0, second = 1;  // views
  int64_t negatives = 0;          // N of each anchor
  at::Tensor rows{};              // int64: with keys, the rows of the whole input; undefined: all

  at::Tensor anchors() const {
    const at::Tensor& z = input.z;
    if (input.keys.defined() || (z.size(1) == 2 && first == 0)) return z;
    return at::stack({z.select(1, first), z.select(1, second)}, 1);
  }
};

namespace {

// All rows against the keys, in one part for each number of negatives.
template <class Part>
std::vector<Part> keyed_parts(const ObjectiveInput& input, const char* objective) {
  Rows rows = ungrouped(input, input.z.detach(), 1);
  set_keys(rows, input, false, objective);
  if (!input.positives.defined()) require_positives(set_sizes(rows, PairSet::kEqual), input, objective);
  const at::Tensor counts = set_sizes(rows, PairSet::kUnequal).to(at::kLong);
  const at::Tensor distinct = std::get<0>(at::_unique(counts));
  if (distinct.size(0) == 1) return {Part{input, 0, 0, distinct[0].item<int64_t>()}};
  if (input.self) {
    throw usage_error("{}: keys: anchors that are keys themselves must have one number of negatives each, found {} to {}", objective,
                      distinct[0].item<int64_t>(), distinct[-1].item<int64_t>());
  }
  const int64_t views = input.z.size(1);
  const at::Tensor samples = samples_of(input).repeat({views}), flat = input.z.transpose(0, 1).reshape({-1, 1, input.z.size(2)});
  std::vector<Part> parts;
  for (int64_t i = 0; i < distinct.size(0); ++i) {
    const at::Tensor index = counts.eq(distinct[i]).nonzero().squeeze(1);
    Part part = {input, 0, 0, distinct[i].item<int64_t>(), index};
    part.input.z = flat.index_select(0, index);
    part.input.samples = samples.index_select(0, index);
    if (input.labels.defined()) part.input.labels = input.labels.repeat({views}).index_select(0, index);
    if (input.bias.defined()) part.input.bias = input.bias.repeat({views}).index_select(0, index);
    if (input.positives.defined()) part.input.positives = input.positives.repeat({views, 1, 1}).index_select(0, index);
    parts.push_back(std::move(part));
  }
  return parts;
}

// The rows of one part; the negatives are the unequal ones of rows that are grouped by sample.
class RowAnchors final : public Anchors {
 public:
  template <class Part>
  RowAnchors(const Part& part, const BatchComparison::Request& request)
      : Anchors(request.temperature), rows_(ungrouped(part.input, part.anchors(), request.temperature)) {
    negatives = part.negatives;
    group(rows_, part.input, false, request.objective);
    if (request.positives == PositivesFrom::kRows && rows_.square()) rows_.anchors = rows_.flat();
    set_positives(part, request);
    if (request.with_itself) itself = at::linalg_vector_norm(rows_.flat(), 2, at::IntArrayRef{1}).square() / temperature;
    log_kept = log_negatives;
    if (!request.drop_false_negatives) return;
    Rows by_class = rows_;
    group(by_class, part.input, true, request.objective);
    log_kept = debias::log_sums(by_class, {{PairSet::kUnequal, 1}})[0];
    kept = set_sizes(by_class, PairSet::kUnequal);
    labelled = part.input.labels.ge(0).repeat({rows_.size() / part.input.labels.size(0)});
  }

  std::vector<at::Tensor> log_sums(const std::vector<NegativeSum>& requests) const override {
    std::vector<PairSum> sums;
    for (const auto& [multiplier, constant] : requests) sums.push_back({PairSet::kUnequal, multiplier, constant});
    return debias::log_sums(rows_, sums);
  }
  std::vector<at::Tensor> ranked_log_sums(const std::vector<RankedSum>& requests) const override {
    return debias::ranked_log_sums(rows_, requests);
  }

 private:
  static void group(Rows& rows, const ObjectiveInput& input, bool by_class, const char* objective) {
    if (input.keys.defined()) return set_keys(rows, input, by_class, objective);
    rows.group = groups_of(pair_keys(input, 2, objective), by_class);
  }

  // In the square form the one equal row is the positive.
  template <class Part>
  void set_positives(const Part& part, const BatchComparison::Request& request) {
    const ObjectiveInput& input = part.input;
    const bool with_sums = request.positives == PositivesFrom::kSumsOfAll;
    if (!rows_.square()) {
      if (with_sums) log_negatives = debias::log_sums(rows_, {{PairSet::kUnequal, 1}})[0];
      set_positives_of_keys(input);
    } else if (with_sums) {
      const auto both = debias::log_sums(rows_, {{PairSet::kUnequal, 1}, {PairSet::kEqual, 1}});
      log_negatives = both[0];
      positive = mean_positive = both[1];
      const bool grouping = request.aggregation == Aggregation::kGrouping && input.z.size(1) > 2;
      if (grouping) mean_positive = log_mean_of_views(input.z, part.first, part.second);
    } else if (request.positives == PositivesFrom::kSums) {
      positive = mean_positive = debias::log_sums(rows_, {{PairSet::kEqual, 1}})[0];
    } else {
      const at::Tensor z = rows_.flat();
      positive = mean_positive = (z * z.roll(rows_.size() / 2, 0)).sum(1) / temperature;
    }
  }

  void set_positives_of_keys(const ObjectiveInput& input) {
    if (!input.positives.defined()) {
      const at::Tensor sum = debias::log_sums(rows_, {{PairSet::kEqual, 1}})[0];
      positive = mean_positive = sum - set_sizes(rows_, PairSet::kEqual).log();
      return;
    }
    const at::Tensor anchors = (rows_.flat() / temperature).unsqueeze(1);
    const at::Tensor s = row_dot(anchors, input.positives.repeat({input.z.size(1), 1, 1}));  // [rows, P]
    positive = mean_positive = s.select(1, 0);
    if (s.size(1) > 1) mean_positive = at::logsumexp(s, 1) - std::log(static_cast<double>(s.size(1)));
  }

  // log of the mean of e^s over the anchor's positive and its rows in the further views.
  at::Tensor log_mean_of_views(const at::Tensor& z, int64_t first, int64_t second) const {
    const at::Tensor scaled = rows_.flat() / temperature;
    std::vector<at::Tensor> all = {positive};
    for (int64_t view = 0; view < z.size(1); ++view) {
      if (view != first && view != second) all.push_back(row_dot(scaled, z.select(1, view).repeat({2, 1})));
    }
    return at::logsumexp(at::stack(all), 0) - std::log(static_cast<double>(all.size()));
  }

  Rows rows_;
};

}  // namespace

BatchComparison::~BatchComparison() = default;

BatchComparison::BatchComparison(const ObjectiveInput& input, const Request& request)
    : input_(checked(input, true, request.objective)), request_(request) {
  if (request.one_positive) require_one_positive(input_, request.objective);
  if (request.drop_false_negatives) require_labels(input_, request.objective, request.labels_for);
  const int64_t views = input_.z.size(1), grouped = request.aggregation == Aggregation::kGrouping ? 2 : views;
  if (input_.keys.defined()) {
    parts_ = keyed_parts<Part>(input_, request.objective);
  } else {
    for (int64_t first = 0; first < grouped; ++first) {
      for (int64_t second = first + 1; second < grouped; ++second) parts_.push_back({input_, first, second, 2 * input_.z.size(0) - 2});
    }
  }
  anchors_.resize(parts_.size());
}

const Anchors& BatchComparison::anchors(size_t part) const {
  if (!anchors_[part]) anchors_[part] = std::make_unique<RowAnchors>(parts_[part], request_);
  return *anchors_[part];
}

ObjectiveResult BatchComparison::mean(double scale, const LossOfAnchors& losses) const {
  LateNumber sample_sizes;
  double weighted = 0;
  const auto losses_of = [&](size_t part) {
    AnchorLosses own = losses(anchors(part));
    if (own.effective_sample_size) {
      const double share = parts_[part].rows.defined() ? static_cast<double>(own.loss.size(0)) : 1;
      sample_sizes += own.effective_sample_size->times(share);
      weighted += share;
    }
    return own;
  };
  ObjectiveResult result = parts_.size() == 1      ? mean_over_anchors(losses_of(0), scale, input_.engines)
                           : input_.keys.defined() ? mean_over_parts(scale, losses_of)
                                                   : mean_over_view_pairs(scale, losses_of);
  if (weighted > 0) result.effective_sample_size = sample_sizes.over(weighted);
  return result;
}

ObjectiveResult BatchComparison::mean_over_parts(double scale, const LossesOfPart& losses_of) const {
  AnchorLosses all;
  std::vector<at::Tensor> losses, used, rows;
  for (size_t part = 0; part < parts_.size(); ++part) {
    const AnchorLosses own = losses_of(part);
    losses.push_back(own.loss);
    used.push_back(own.used.defined() ? own.used : at::ones_like(own.loss, at::kBool));
    rows.push_back(parts_[part].rows);
    all.clamped += own.clamped;
    keep_smallest(all.min_estimate, own.min_estimate);
  }
  const at::Tensor place = at::cat(rows).argsort();
  all.loss = at::cat(losses).index_select(0, place);
  all.used = at::cat(used).index_select(0, place);
  if (all.used.all().item<bool>()) all.used = at::Tensor();
  return mean_over_anchors(all, scale, input_.engines);
}

ObjectiveResult BatchComparison::mean_over_view_pairs(double scale, const LossesOfPart& losses_of) const {
  const int64_t samples = input_.z.size(0), views = input_.z.size(1);
  ObjectiveResult result;
  result.anchors = samples * views;
  at::Tensor sums = at::zeros({views, samples}, input_.z.options()), counts = at::zeros_like(sums);
  int64_t pairs_used = 0;
  for (size_t part = 0; part < parts_.size(); ++part) {
    const ObjectiveResult pair = mean_over_anchors(losses_of(part), scale, input_.engines);
    result.clamped += pair.clamped;
    result.clampable += pair.anchors;
    keep_smallest(result.min_estimate, pair.min_estimate);
    result.value = result.value.defined() ? result.value + pair.value : pair.value;
    pairs_used += pair.anchors_used > 0;
    const at::Tensor own = pair.per_anchor.view({2, samples}), there = own.detach().isnan().logical_not();
    const int64_t rows[] = {parts_[part].first, parts_[part].second};
    for (int64_t side = 0; side < 2; ++side) {
      sums[rows[side]] += own[side].where(there[side], 0);
      counts[rows[side]] += there[side];
    }
  }
  result.value = result.value / static_cast<double>(std::max<int64_t>(pairs_used, 1));
  result.per_anchor = (sums / counts.clamp_min(1)).where(counts.gt(0), kNan).flatten();
  result.anchors_used = LateNumber(counts.gt(0).sum());
  if (input_.engines) result.engine = input_.engines->engine();
  return result;
}

PairKeys pair_keys(const ObjectiveInput& input, int64_t views, const char* objective) {
  const int64_t samples = input.z.size(0);
  const at::Device device = input.z.device();
  const auto own = [&](const at::Tensor& of, const char* what) { return checked_integers(of, samples, device, what, "sample", objective); };
  const auto tiled = [&](const at::Tensor& of) { return of.defined() ? of.repeat({views}) : of; };
  at::Tensor sample = own(input.samples, "sample keys");
  if (!sample.defined()) {
    sample = at::arange(samples, at::TensorOptions(at::kLong).device(device));
  } else if (input.keys.defined() || input.vouched) {
    // With keys, several anchors of one sample are as good as one.
  } else if (const at::Tensor sorted = std::get<0>(sample.sort()); sorted.slice(0, 1).eq(sorted.slice(0, 0, -1)).any().item<bool>()) {
    throw data_error("{}: sample keys: two samples of the batch have one key; number the occurrences of a repeated sample", objective);
  }
  return {tiled(sample), tiled(own(input.labels, "labels")), tiled(own(input.bias, "bias"))};
}

Classes classes_of(const ObjectiveInput& given, double temperature, const char* objective) {
  ObjectiveInput input = checked(given, false, objective);
  if (input.keys.defined() && input.labels.defined() && !input.key_labels.defined()) {
    throw usage_error("{}: keys: the anchors have labels, the keys none; give labels of the keys too (-1 = unknown)", objective);
  }
  input = with_positives_as_keys(input);
  Classes classes;
  classes.keys = pair_keys(input, input.z.size(1), objective);
  classes.pairs = ungrouped(input, input.z, temperature);
  if (input.keys.defined()) {
    set_keys(classes.pairs, input, input.labels.defined(), objective);
  } else {
    classes.pairs.group = groups_of(classes.keys, input.labels.defined());
  }
  classes.positives = set_sizes(classes.pairs, PairSet::kEqual);
  classes.negatives = set_sizes(classes.pairs, PairSet::kUnequal);
  classes.is_attracted = classes.positives.gt(0);
  if (input.keys.defined() && !classes.is_attracted.any().item<bool>()) {
    throw data_error(
        "{}: keys: none is of the sample or the class of any anchor, so nothing has a positive; give positives, or keys with "
        "their samples or labels",
        objective);
  }
  return classes;
}

void require_embeddings(const at::Tensor& z, const char* objective) {
  if (z.defined() && z.dim() == 3 && z.is_floating_point() && z.numel() > 0) return;
  throw data_error("{}: expected non-empty floating-point embeddings [samples, views, dimensions], found {}", objective,
                   z.defined() ? shape_of(z) : "none");
}

void require_labels(const ObjectiveInput& input, const char* objective, const char* reason) {
  if (!input.labels.defined()) throw usage_error("{}: {} needs labels; none were given", objective, reason);
  if (input.keys.defined() && !input.key_labels.defined()) {
    throw usage_error("{}: {} needs labels of the keys too; none were given", objective, reason);
  }
}

void refuse_keys(const ObjectiveInput& input, const char* objective) {
  if (!input.keys.defined() && !input.positives.defined()) return;
  throw usage_error(
      "{}: compares rows of a batch with each other and takes no keys; choose an objective that does (debias list objectives)", objective);
}

}  // namespace debias
