#include "debias/train/methods/term.h"
#include "debias/train/methods/method.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "debias/core/error.h"
#include "debias/core/registry.h"
#include "debias/runtime/unit_rows.h"
#include "debias/train/methods/bias_data.h"

namespace debias {
namespace {

void require_views(const Recipe& recipe, const TermRecipe& term) {
  const ObjectiveEntry& entry = *term.entry;
  if (recipe.views.count >= entry.min_views || (entry.takes_keys && method_of(recipe).gives_keys)) return;
  throw usage_error("{}objective '{}' needs at least {} views of each image, views.count is {}", term.where, entry.name, entry.min_views,
                    recipe.views.count);
}

// Groups of linked images replace classes where pairs are dropped, also without labels.
DatasetInfo with_link_classes(const Recipe& recipe, DatasetInfo info) {
  if (recipe.must_link && info.class_names.empty()) info.class_names = {"linked"};
  return info;
}

void require_data(const TermRecipe& term, const DatasetInfo& info, bool has_links) {
  const ObjectiveEntry& entry = *term.entry;
  const std::string of = fmt::format("data set '{}'{}", info.name, info.split.empty() ? "" : fmt::format(" (split {})", info.split));
  const bool features = !term.options.bias_features.empty();
  if (features && !entry.takes_bias_features) {
    throw usage_error("{}objective '{}': bias_features: it reads none; softcon and fairkl do", term.where, entry.name);
  }
  if (!features && entry.needs_bias_features) {
    throw usage_error("{}objective '{}' needs features of a model of the bias; add bias_features: FILE.npy, [N, F], row = sample id",
                      term.where, entry.name);
  }
  if (info.class_names.empty() && (entry.needs_labels || (term.objective->drops_false_negatives() && !has_links))) {
    throw usage_error("{}objective '{}' needs labels, {} has none; choose a labelled set or another objective", term.where, entry.name, of);
  }
  const bool either = entry.takes_bias_features && !entry.needs_bias_features;
  if (info.bias_names.empty() && (entry.needs_bias || (either && !features))) {
    throw usage_error("{}objective '{}' needs bias labels{}, {} has none; choose a set with a bias attribute or another objective",
                      term.where, entry.name, either ? " or bias_features: FILE.npy" : "", of);
  }
}

}  // namespace

Term::Term(TermRecipe recipe, std::string label, const DatasetInfo& info)
    : recipe_(std::move(recipe)),
      label_(std::move(label)),
      has_labels_(!info.class_names.empty()),
      has_bias_(!info.bias_names.empty()),
      in_force_{recipe_.options, recipe_.objective},
      objective_(in_force_.objective->make()) {}

void Term::begin_epoch(int64_t epoch) {
  const std::vector<NumberInForce> numbers = recipe_.numbers_at(epoch, estimates_);
  if (numbers.empty()) return;
  in_force_ = recipe_.with(numbers);
  objective_ = in_force_.objective->make();
  scheduled_.clear();
  for (const auto& [number, value] : numbers) scheduled_.emplace_back(number->name, value);
}

std::vector<std::string> Term::take_estimates(int64_t finished_epochs, const Metrics& metrics) {
  std::vector<std::string> notes;
  for (const auto& sourced : recipe_.sources) {
    if (!sourced.due_after(finished_epochs)) continue;
    const OptionSource& source = *sourced.source;
    const auto measured = [&](const std::string& name) {
      const auto found = std::find_if(metrics.begin(), metrics.end(), [&](const auto& metric) { return metric.first == name; });
      return found == metrics.end() ? std::nan("") : found->second;
    };
    const double bound = measured(source.bound_metric());
    const double estimate = std::isnan(bound) ? measured(source.metric()) : std::min(bound, sourced.start);
    if (!std::isfinite(estimate)) {
      notes.push_back(fmt::format("{}.{}: no estimate by '{}' after epoch {}: the current value stays", label_, sourced.number.name,
                                  source.name, finished_epochs));
      continue;
    }
    const double value = std::clamp(estimate, source.low, source.high);
    if (value != estimate) {
      notes.push_back(fmt::format("{}.{}: the estimate {:.4g} of '{}' after epoch {} is outside [{}, {}] and is taken as {}", label_,
                                  sourced.number.name, estimate, source.name, finished_epochs, source.low, source.high, value));
    }
    estimates_[sourced.number.name] = value;
  }
  return notes;
}

void Term::load(const SampleTable& dataset, int64_t views, bool keyed, const std::vector<double>& weights) {
  if (!in_force_.own.bias_features.empty()) bias_features_ = read_bias_features(in_force_.own.bias_features, dataset);
  if (recipe_.entry->kind == InputKind::kLogits && recipe_.entry->needs_bias) prior_ = label_given_bias(dataset, weights);
  if (!on_logits_as_they_are()) try_on_rows(views, keyed);
}

void Term::try_on_rows(int64_t views, bool keyed) const {
  const at::NoGradGuard no_grad;
  constexpr int64_t kRows = 4, kColumns = 3;
  ObjectiveInput input;
  input.z = unit_rows(at::sin(at::arange(1, kRows * views * kColumns + 1, at::kFloat)).view({kRows, views, kColumns}));
  if (has_labels_) input.labels = at::tensor({0, 0, 1, 1}, at::kLong);
  if (has_bias_) input.bias = at::tensor({0, 1, 0, 1}, at::kLong);
  if (keyed && recipe_.entry->takes_keys) {
    input.z = input.z.slice(1, 0, 1);
    input.positives = input.z;
    input.keys = input.z.select(1, 0);
    input.key_labels = input.labels;
  }
  if (bias_features_.defined()) input.weights = at::ones({kRows, bias_features_.size(1)}, bias_features_.options());
  objective()(input);
}

void require_terms(const Recipe& recipe, const DatasetInfo& info) {
  for (const auto& term : recipe.objective) {
    require_views(recipe, term);
    require_data(term, info, recipe.must_link.has_value());
  }
}

std::vector<Term> make_terms(const Recipe& recipe, const SampleTable& dataset) {
  require_terms(recipe, dataset.info());
  std::vector<Term> terms;
  std::map<std::string, int> uses;
  for (const auto& written : recipe.objective) {
    const std::string& name = written.entry->name;
    const int use = ++uses[name];
    terms.emplace_back(written, use == 1 ? name : fmt::format("{}_{}", name, use), with_link_classes(recipe, dataset.info()));
    terms.back().begin_epoch(0);
  }
  return terms;
}

}  // namespace debias
