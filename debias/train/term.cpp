#include "debias/train/term.h"
#include "debias/train/method.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "debias/core/error.h"
#include "debias/core/registry.h"
#include "debias/runtime/unit_rows.h"
#include "debias/train/bias_data.h"

namespace debias {
namespace {

std::vector<std::string> keys_of_others() {
  std::vector<std::string> keys = TermOptions::table().names();
  keys.push_back("name");
  return keys;
}

void require_data(const ObjectiveEntry& entry, const TermRecipe& term, const DatasetInfo& info) {
  const std::string prefix = term.section.prefix();
  const std::string of = fmt::format("data set '{}'{}", info.name, info.split.empty() ? "" : fmt::format(" (split {})", info.split));
  const bool features = !term.options.bias_features().empty();
  if (features && !entry.takes_bias_features) {
    throw usage_error("{}objective '{}': bias_features: it reads none; softcon and fairkl do", prefix, entry.name);
  }
  if (!features && entry.needs_bias_features) {
    throw usage_error("{}objective '{}' needs features of a model of the bias; add bias_features: FILE.npy, [N, F], row = sample id",
                      prefix, entry.name);
  }
  const Config* drop = term.section.find("drop_false_negatives");
  if (info.class_names.empty() && (entry.needs_labels || (drop != nullptr && drop->text() == "true"))) {
    throw usage_error("{}objective '{}' needs labels, {} has none; choose a labelled set or another objective", prefix, entry.name, of);
  }
  const bool either = entry.takes_bias_features && !entry.needs_bias_features;
  if (info.bias_names.empty() && (entry.needs_bias || (either && !features))) {
    throw usage_error("{}objective '{}' needs bias values{}, {} has none; choose a set with a bias attribute or another objective", prefix,
                      entry.name, either ? " or bias_features: FILE.npy" : "", of);
  }
}

void require_numbers(const ObjectiveEntry& entry, const TermRecipe& term) {
  for (const auto& [option, schedule] : term.schedules) {
    std::vector<OptionSpec> specs = entry.options;
    for (auto& spec : TermOptions::table().specs()) specs.push_back(std::move(spec));
    for (const auto& spec : specs) {
      if (spec.name != option || spec.type.starts_with("number") || spec.type.starts_with("integer")) continue;
      throw usage_error("{}objective '{}': {}: a schedule gives numbers, this takes a {}", term.section.find(option)->prefix(), entry.name,
                        option, spec.type);
    }
  }
}

}  // namespace

Term::Term(const ObjectiveEntry& entry, TermRecipe recipe, std::string label, const DatasetInfo& info)
    : entry_(&entry),
      recipe_(std::move(recipe)),
      label_(std::move(label)),
      has_labels_(!info.class_names.empty()),
      has_bias_(!info.bias_names.empty()),
      options_(recipe_.options),
      objective_(entry.make(recipe_.section_at(0), keys_of_others())) {}

// Options are read again as a whole, not set one by one: some are checked against each other, and both may be scheduled.
void Term::begin_epoch(int64_t epoch) {
  if (recipe_.schedules.empty() && recipe_.sources.empty()) return;
  objective_ = entry_->make(recipe_.section_at(epoch, estimates_), keys_of_others());
  options_ = recipe_.options_at(epoch);
  scheduled_.clear();
  for (const auto& [option, schedule] : recipe_.schedules) scheduled_.emplace_back(option, schedule->value(epoch));
  for (const auto& sourced : recipe_.sources) {
    const auto estimate = estimates_.find(sourced.option);
    scheduled_.emplace_back(sourced.option, estimate == estimates_.end() ? sourced.start : estimate->second);
  }
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
      notes.push_back(fmt::format("{}.{}: no estimate by '{}' after epoch {}: the value in force stays", label_, sourced.option,
                                  source.name, finished_epochs));
      continue;
    }
    const double value = std::clamp(estimate, source.low, source.high);
    if (value != estimate) {
      notes.push_back(fmt::format("{}.{}: the estimate {:.4g} of '{}' after epoch {} is outside [{}, {}] and is taken as {}", label_,
                                  sourced.option, estimate, source.name, finished_epochs, source.low, source.high, value));
    }
    estimates_[sourced.option] = value;
  }
  return notes;
}

void Term::try_estimates() const {
  for (const bool high : {false, true}) {
    std::map<std::string, double> ends;
    for (const auto& sourced : recipe_.sources) ends[sourced.option] = high ? sourced.source->high : sourced.source->low;
    try {
      entry_->make(recipe_.section_at(0, ends), keys_of_others());
    } catch (const Error& error) {
      throw usage_error("{} (at the {} end of what `from` may give)", error.what(), high ? "upper" : "lower");
    }
  }
}

void Term::load(const SampleTable& dataset, int64_t views, bool keyed, const std::vector<double>& weights) {
  if (!options_.bias_features().empty()) bias_features_ = read_bias_features(options_.bias_features(), dataset);
  if (entry_->kind == InputKind::kLogits && entry_->needs_bias) prior_ = label_given_bias(dataset, weights);
  if (!on_logits_as_they_are()) try_on_rows(views, keyed);
}

void Term::try_on_rows(int64_t views, bool keyed) const {
  const at::NoGradGuard no_grad;
  constexpr int64_t kRows = 4, kColumns = 3;
  ObjectiveInput input;
  input.z = unit_rows(at::sin(at::arange(1, kRows * views * kColumns + 1, at::kFloat)).view({kRows, views, kColumns}));
  if (has_labels_) input.labels = at::tensor({0, 0, 1, 1}, at::kLong);
  if (has_bias_) input.bias = at::tensor({0, 1, 0, 1}, at::kLong);
  if (keyed && entry_->takes_keys) {
    input.z = input.z.slice(1, 0, 1);
    input.positives = input.z;
    input.keys = input.z.select(1, 0);
    input.key_labels = input.labels;
  }
  if (bias_features_.defined()) input.weights = bias_features_.slice(0, 0, 1).expand({kRows, -1});
  objective()(input);
}

Config Term::config() const {
  Config term = Config::map({{"name", Config::string(entry_->name)}});
  term.overlay(TermOptions::table().write(options_));
  if (options_.bias_features().empty()) term.erase("bias_features");
  if (const Config* variant = recipe_.section.find("variant")) term.set("variant", *variant);
  term.overlay(objective_->config());
  for (const auto& [option, schedule] : recipe_.schedules) term.set(option, schedule->config());
  for (const auto& sourced : recipe_.sources) term.set(sourced.option, sourced.config());
  return term;
}

std::vector<Term> make_terms(const Recipe& recipe, const SampleTable& dataset) {
  std::vector<Term> terms;
  std::map<std::string, int> uses;
  for (const auto& written : recipe.objective) {
    const auto& entry = find_entry(objective_registry(), written.name, "objective", written.section.prefix());
    const bool keyed = entry.takes_keys && method_of(recipe).gives_keys;
    if (recipe.views.count() < entry.min_views && !keyed) {
      throw usage_error("{}objective '{}' needs at least {} views of each image, views.count is {}", written.section.prefix(), entry.name,
                        entry.min_views, recipe.views.count());
    }
    require_data(entry, written, dataset.info());
    require_numbers(entry, written);
    const int use = ++uses[entry.name];
    terms.emplace_back(entry, written, use == 1 ? entry.name : fmt::format("{}_{}", entry.name, use), dataset.info());
    for (int64_t epoch = 0; epoch < recipe.train.epochs() && !written.schedules.empty(); ++epoch) {
      try {
        terms.back().begin_epoch(epoch);
      } catch (const Error& error) {
        throw usage_error("{} (in epoch {} of the schedules, counted from 0)", error.what(), epoch);
      }
    }
    terms.back().begin_epoch(0);
    terms.back().try_estimates();
  }
  return terms;
}

}  // namespace debias
