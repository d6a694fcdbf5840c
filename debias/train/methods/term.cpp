#include "debias/train/methods/term.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "debias/core/error.h"
#include "debias/core/npy.h"
#include "debias/core/options.h"
#include "debias/core/registry.h"
#include "debias/runtime/unit_rows.h"
#include "debias/train/methods/method.h"

namespace debias {
namespace {

void require_views(const Recipe& recipe, const TermRecipe& term) {
  const ObjectiveEntry& entry = *term.entry;
  if (recipe.views.count >= entry.min_views || (entry.takes_keys && method_of(recipe).gives_keys)) return;
  throw usage_error("{}objective '{}' needs at least {} views of each image, views.count is {}", term.where, entry.name, entry.min_views,
                    recipe.views.count);
}

// Groups of linked images replace classes where pairs are dropped, also without labels.
DatasetInfo with_link_classes(DatasetInfo info) {
  if (info.class_names.empty()) info.class_names = {"linked"};
  return info;
}

constexpr const char* kDrops = "drop_false_negatives";

bool can_leave_out(const ObjectiveEntry& entry) {
  return std::ranges::find(entry.options, kDrops, &OptionSpec::name) != entry.options.end();
}

// Whether an objective takes what is of one class for positives, or for no negatives.
bool compares_classes(const ObjectiveEntry& entry) { return entry.needs_labels || entry.joins_positives; }

// Whether the method compares keys by sample, so that group mates are keys of one sample.
bool compares_samples(const Recipe& recipe, const ObjectiveEntry& entry) {
  return method_of(recipe).gives_keys && !compares_classes(entry);
}

// Whether a term leaves out group mates as if they were of one class.
bool drops_mates(const Recipe& recipe, const TermRecipe& term) {
  return term.entry->kind == InputKind::kPairs && method_of(recipe).drops_linked_pairs && can_leave_out(*term.entry) &&
         !term.objective->drops_false_negatives();
}

TermRecipe dropping_pairs(TermRecipe term) {
  Config options = term.objective->config();
  options.set(kDrops, write_value<bool>(true));
  term.objective = term.entry->read(options, {});
  return term;
}

// Groups with samples of several known labels.
struct MixedGroups {
  int64_t count = 0;
  int64_t first = kUnknown;  // SampleTable::group
};
MixedGroups mixed_groups(const SampleTable& samples) {
  std::map<int64_t, int64_t> label_of;
  std::set<int64_t> mixed;
  MixedGroups found;
  for (int64_t i = 0; i < samples.size(); ++i) {
    const int64_t group = samples.group(i), label = samples.label(i);
    if (group == kUnknown || label == kUnknown || label_of.try_emplace(group, label).first->second == label) continue;
    if (mixed.empty()) found.first = group;
    mixed.insert(group);
  }
  found.count = std::ssize(mixed);
  return found;
}

// Why group mates are negatives of a term: empty if they are not.
std::string caution_on_groups(const Recipe& recipe, const TermRecipe& term, const SampleTable& samples, const MixedGroups& mixed) {
  const ObjectiveEntry& entry = *term.entry;
  if (recipe.must_link || drops_mates(recipe, term) || compares_samples(recipe, entry)) return "";
  if ((compares_classes(entry) && !samples.info().class_names.empty()) || term.objective->drops_false_negatives()) {
    if (mixed.count == 0) return "";
    return fmt::format(
        "objective '{}' compares classes: images of one group and of different classes are negatives, in {} groups (the first: {})",
        entry.name, mixed.count, samples.info().group_names[static_cast<size_t>(mixed.first)]);
  }
  const MethodEntry& method = method_of(recipe);
  if (!method.drops_linked_pairs && !method.gives_keys) {
    return fmt::format("method '{}' cannot leave group mates out of the negatives; {} can", method.name,
                       fmt::join(methods_with(&MethodEntry::drops_linked_pairs), " or "));
  }
  std::string able;
  for (const auto& other : objective_registry()) {
    if (can_leave_out(other)) able += (able.empty() ? "" : ", ") + other.name;
  }
  return fmt::format("objective '{}' cannot leave group mates out of its negatives; {} can", entry.name, able);
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

Term::Term(TermRecipe recipe, std::string label, const DatasetInfo& info, bool takes_links)
    : recipe_(std::move(recipe)),
      label_(std::move(label)),
      has_labels_(!info.class_names.empty()),
      has_bias_(!info.bias_names.empty()),
      takes_links_(takes_links),
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

std::vector<int64_t> left_out_mates(const Recipe& recipe, const SampleTable& samples) {
  return recipe.groups == GroupMates::kIgnore ? std::vector<int64_t>() : grouped_samples(samples);
}

GroupNotes notes_on_groups(const Recipe& recipe, const SampleTable& samples) {
  const std::vector<int64_t> mates = grouped_samples(samples);
  const auto over_pairs = [](const TermRecipe& term) { return term.entry->kind == InputKind::kPairs; };
  if (mates.empty()) return {};
  std::set<int64_t> numbers(mates.begin(), mates.end());
  GroupNotes found;
  found.groups = std::ssize(numbers);
  if (numbers.contains(kUnknown)) found.groups += std::ranges::count(mates, kUnknown) - 1;
  if (std::ranges::none_of(recipe.objective, over_pairs)) return found;
  const std::string begin =
      fmt::format("{} {} are {} groups ({})", samples.size(), samples.what(), found.groups, samples.info().groups_from);
  if (recipe.groups == GroupMates::kIgnore) {
    found.notes = {begin + ": group mates are negatives of each other (data.groups: ignore)"};
    return found;
  }
  const MixedGroups mixed = mixed_groups(samples);
  std::vector<std::string> cautions;
  for (const auto& term : recipe.objective) {
    const std::string caution = over_pairs(term) ? caution_on_groups(recipe, term, samples, mixed) : "";
    if (!caution.empty() && std::ranges::find(cautions, caution) == cautions.end()) cautions.push_back(caution);
  }
  found.has_cautions = !cautions.empty();
  const bool is_positive = recipe.groups == GroupMates::kPositive;
  const std::string excluded = "group mates are excluded from the negatives";
  const std::string shown = "the second view of an image is of its group";
  if (cautions.empty()) {
    found.notes = {fmt::format("{}: {}{}", begin, excluded, is_positive ? ", and " + shown : "")};
    return found;
  }
  for (const auto& caution : cautions) found.notes.push_back(fmt::format("{}: {}", begin, caution));
  if (is_positive) found.notes.push_back(fmt::format("{}: {}", begin, shown));
  return found;
}

std::vector<Term> make_terms(const Recipe& recipe, const SampleTable& dataset) {
  require_terms(recipe, dataset.info());
  std::vector<Term> terms;
  std::map<std::string, int> uses;
  const bool has_mates = !left_out_mates(recipe, dataset).empty();
  for (const auto& written : recipe.objective) {
    const std::string& name = written.entry->name;
    const int use = ++uses[name];
    const bool drops = has_mates && drops_mates(recipe, written);
    const bool takes_links = drops || (recipe.must_link && written.entry->kind == InputKind::kPairs);
    terms.emplace_back(drops ? dropping_pairs(written) : written, use == 1 ? name : fmt::format("{}_{}", name, use),
                       takes_links ? with_link_classes(dataset.info()) : dataset.info(), takes_links);
    terms.back().begin_epoch(0);
  }
  return terms;
}

void TermSet::begin_epoch(int64_t epoch) {
  for (auto& term : terms_) term.begin_epoch(epoch);
}

std::vector<std::string> TermSet::take_estimates(int64_t finished_epochs, const Metrics& metrics) {
  std::vector<std::string> notes;
  for (auto& term : terms_) {
    for (auto& note : term.take_estimates(finished_epochs, metrics)) notes.push_back(std::move(note));
  }
  return notes;
}

std::map<std::string, double> TermSet::estimates() const {
  std::map<std::string, double> all;
  for (const auto& term : terms_) {
    for (const auto& [option, value] : term.estimates()) all[term.label() + "." + option] = value;
  }
  return all;
}

void TermSet::restore_estimates(const std::map<std::string, double>& estimates) {
  for (auto& term : terms_) {
    std::map<std::string, double> own;
    const std::string prefix = term.label() + ".";
    for (const auto& [name, value] : estimates) {
      if (name.starts_with(prefix)) own[name.substr(prefix.size())] = value;
    }
    term.restore_estimates(std::move(own));
  }
}

std::vector<std::string> TermSet::labels() const {
  std::vector<std::string> labels;
  for (const auto& term : terms_) labels.push_back(term.label());
  return labels;
}

std::vector<std::string> TermSet::cautions() const {
  std::vector<std::string> lines;
  for (const auto& term : terms_) {
    if (const std::string caution = term.caution(); !caution.empty()) lines.push_back(term.label() + ": " + caution);
  }
  return lines;
}

Metrics TermSet::scheduled() const {
  Metrics values;
  for (const auto& term : terms_) {
    for (const auto& [option, value] : term.scheduled()) values.emplace_back(term.label() + "." + option, value);
  }
  return values;
}

at::Tensor read_bias_features(const std::string& path, const SampleTable& dataset) {
  const NpyArray array = read_npy(path);
  if (array.dtype != DType::kFloat32 && array.dtype != DType::kFloat64) {
    throw data_error("{}: bias features must be float32 or float64, found {}; convert them", path, name_of(array.dtype));
  }
  int64_t largest = -1;
  for (int64_t i = 0; i < dataset.size(); ++i) largest = std::max(largest, dataset.id(i));
  if (array.shape.size() != 2 || array.shape[0] <= largest || array.shape[1] < 1) {
    throw data_error("{}: expected bias features of shape [N, F], a row for each sample id up to {} of data set '{}', found ({})", path,
                     largest, dataset.info().name, fmt::join(array.shape, ", "));
  }
  const auto type = array.dtype == DType::kFloat32 ? at::kFloat : at::kDouble;
  const at::Tensor features = at::from_blob(const_cast<std::byte*>(array.bytes.data()), array.shape, at::TensorOptions(type)).clone();
  if (const at::Tensor bad = at::isfinite(features).all(1).logical_not().nonzero(); bad.size(0) > 0) {
    throw data_error("{}: row {} is not finite ({} such rows); repair them", path, bad[0][0].item<int64_t>(), bad.size(0));
  }
  return features;
}

at::Tensor label_given_bias(const SampleTable& dataset, const std::vector<double>& weights) {
  const auto C = static_cast<int64_t>(dataset.info().class_names.size());
  const auto G = static_cast<int64_t>(dataset.info().bias_names.size());
  at::Tensor counts = at::zeros({C, G}, at::kDouble);
  auto table = counts.accessor<double, 2>();
  for (int64_t i = 0; i < dataset.size(); ++i) {
    const int64_t label = dataset.label(i), bias = dataset.bias(i);
    if (label < 0 || bias < 0) continue;
    if (label >= C || bias >= G) {
      throw data_error(
          "counting labels by bias: {} of data set '{}' has label {} and bias label {}, there are {} classes and {} bias labels",
          dataset.source(i), dataset.info().name, label, bias, C, G);
    }
    table[label][bias] += weights.empty() ? 1 : weights[i];
  }
  const at::Tensor of_bias = counts.sum(0);
  return counts / of_bias.where(of_bias.gt(0), 1);
}

}  // namespace debias
