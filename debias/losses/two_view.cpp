#include "debias/losses/two_view.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "debias/core/error.h"
#include "debias/losses/keyed_input.h"
#include "debias/losses/pair_keys.h"

namespace debias {
namespace {

at::Tensor row_dot(const at::Tensor& a, const at::Tensor& b) { return (a * b).sum(-1); }

bool is_whole(const ViewPair& pair) { return pair.input.z.size(1) == 2 && pair.first == 0; }

// [B, 2, D]
at::Tensor two_views(const ViewPair& pair) {
  const at::Tensor& z = pair.input.z;
  return is_whole(pair) ? z : at::stack({z.select(1, pair.first), z.select(1, pair.second)}, 1);
}

// log of the mean of e^s over the anchor's positive and its rows in the further views.
at::Tensor log_mean_of_views(const ViewPair& pair, const Rows& rows, const at::Tensor& partner) {
  const at::Tensor& z = pair.input.z;
  const at::Tensor scaled = rows.flat() / rows.temperature;
  std::vector<at::Tensor> all = {partner};
  for (int64_t view = 0; view < z.size(1); ++view) {
    if (view != pair.first && view != pair.second) all.push_back(row_dot(scaled, z.select(1, view).repeat({2, 1})));
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
  if (z.size(1) < 2 && !input.keys.defined()) {
    throw usage_error("{}: needs at least 2 views of each sample, or keys to compare them with; found {} view and no keys", objective,
                      z.size(1));
  }
  ObjectiveInput checked = input;
  if (z.scalar_type() != at::kDouble) checked.z = z.to(at::kFloat);
  checked.bfloat16_products |= z.scalar_type() == at::kBFloat16;
  checked.engines = std::make_shared<EngineRecord>(input.engine);
  check_keyed(checked, objective);
  return checked;
}

void require_labels(const ObjectiveInput& input, const char* objective, const char* reason) {
  if (!input.labels.defined()) throw usage_error("{}: {} needs labels; none were given", objective, reason);
  if (input.keys.defined() && !input.key_labels.defined()) {
    throw usage_error("{}: {} needs labels of the keys too; none were given", objective, reason);
  }
}

ViewPair view_pair(const ObjectiveInput& input, int64_t first, int64_t second) { return {input, first, second, 2 * input.z.size(0) - 2}; }

Rows rows_of(const ViewPair& pair, double temperature, bool by_class, const char* objective) {
  const ObjectiveInput& input = pair.input;
  Rows rows = {.anchors = input.keys.defined() ? input.z : two_views(pair),
               .group = {},
               .temperature = temperature,
               .within_unit = input.vouched,
               .engine = input.engine,
               .memory_budget = input.memory_budget,
               .bfloat16_products = input.bfloat16_products,
               .share = input.row_share,
               .engines = input.engines};
  if (input.keys.defined()) {
    set_keys(rows, input, by_class, objective);
    return rows;
  }
  const PairKeys keys = pair_keys(input, 2, objective);
  rows.group = by_class ? class_groups(keys.label, keys.sample) : keys.sample;
  return rows;
}

Positives positives_of(const ViewPair& pair, const Rows& by_sample) {
  const ObjectiveInput& input = pair.input;
  if (!input.positives.defined()) {
    const at::Tensor sum = log_sums(by_sample, {{.set = PairSet::kEqual}})[0];  // square: the one equal row is the positive
    if (by_sample.square()) return {sum, sum};
    const at::Tensor mean = sum - set_sizes(by_sample, PairSet::kEqual).log();
    return {mean, mean};
  }
  const at::Tensor anchors = (by_sample.flat() / by_sample.temperature).unsqueeze(1);
  const at::Tensor s = row_dot(anchors, input.positives.repeat({input.z.size(1), 1, 1}));  // [rows, P]
  const at::Tensor numerator = s.select(1, 0);
  if (s.size(1) == 1) return {numerator, numerator};
  return {numerator, at::logsumexp(s, 1) - std::log(static_cast<double>(s.size(1)))};
}

TwoViewSums two_view_sums(const ViewPair& pair, const TwoViewRequest& request, const char* objective) {
  const Rows rows = rows_of(pair, request.temperature, false, objective);
  TwoViewSums sums;
  sums.negatives = pair.negatives;
  if (rows.square()) {
    const auto both = log_sums(rows, {{PairSet::kUnequal, 1}, {PairSet::kEqual, 1}});
    sums.log_negatives = both[0];
    sums.positive = both[1];  // the one equal row is the partner
    sums.mean_positive = request.group_positives ? log_mean_of_views(pair, rows, sums.positive) : sums.positive;
  } else {
    sums.log_negatives = log_sums(rows, {{PairSet::kUnequal, 1}})[0];
    const Positives positives = positives_of(pair, rows);
    sums.positive = positives.numerator;
    sums.mean_positive = positives.log_mean;
  }
  if (request.with_self) sums.self = at::linalg_vector_norm(rows.flat(), 2, at::IntArrayRef{1}).square() / request.temperature;
  sums.log_kept = sums.log_negatives;
  if (request.drop_false_negatives) {
    Rows by_class = rows_of(pair, request.temperature, true, objective);
    by_class.anchors = rows.anchors;
    sums.log_kept = log_sums(by_class, {{PairSet::kUnequal, 1}})[0];
    sums.kept = set_sizes(by_class, PairSet::kUnequal);
    const at::Tensor& labels = pair.input.labels;
    sums.labelled = labels.ge(0).repeat({rows.size() / labels.size(0)});
  } else if (request.with_self) {
    sums.kept = at::full({rows.size()}, sums.negatives, rows.anchors.options().requires_grad(false));
  }
  return sums;
}

at::Tensor log_one_plus_exp(const at::Tensor& x) { return at::softplus(x, 1, 80); }

double exponential_slack(const at::Tensor& like, double temperature) {
  const double epsilon = like.scalar_type() == at::kDouble ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  return std::min(0.5, 8 * epsilon * (1 + 1 / temperature));
}

}  // namespace debias
