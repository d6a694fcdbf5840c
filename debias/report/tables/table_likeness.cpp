#include "debias/report/tables/table_likeness.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "debias/core/error.h"
#include "debias/core/recipe_keys.h"
#include "debias/data/dataset_registry.h"
#include "debias/report/run_column.h"

namespace debias {
namespace {

using OptionTexts = std::map<std::string, std::string>;  // by key

constexpr const char* kApart = "make a table of each, by the folders of its runs";

// As sweeps and --resume compare them: 0.990 is 0.99.
bool are_alike(const std::string& a, const std::string& b) {
  double one = 0, other = 0;
  return a == b || (parse_number(a, &one) && parse_number(b, &other) && one == other);
}

// The first key at which two maps differ, "" where they do not.
std::string first_difference(const OptionTexts& a, const OptionTexts& b) {
  for (const auto* one : {&a, &b}) {
    const auto& other = one == &a ? b : a;
    for (const auto& [key, value] : *one) {
      const auto found = other.find(key);
      if (found == other.end() || !are_alike(found->second, value)) return key;
    }
  }
  return "";
}

std::string option_text(const OptionTexts& options, const std::string& key) {
  const auto found = options.find(key);
  return found == options.end() || found->second.empty() ? "not there" : found->second;
}

OptionTexts data_options(const RunRecord& run, const std::string& split) {
  const DataFacts& data = run.recipe.data_of(split);
  OptionTexts options = data.options;
  if (!data_set_is(data.name, &DatasetEntry::is_any_folder)) options.erase("root");
  return options;
}

OptionTexts data_name(const RunRecord& run) { return {{"name", run.recipe.data_of("train").name}}; }

std::string count_text(const RunRecord& run, const std::string& split) {
  return fmt::format("{}", value_or(run.data_sets.at(split), "count", int64_t{0}));
}

[[noreturn]] void refuse_images(const RunRecord& first, const RunRecord& run, const std::string& split) {
  throw usage_error(
      "table: runs of different data: the samples, labels or bias labels of data.{} are not the same in '{}' ({} of them) and '{}' ({}); "
      "{}",
      split, first.path, count_text(first, split), run.path, count_text(run, split), kApart);
}

void require_data_options_alike(const RunRecord& first, const RunRecord& run, const std::string& split, const OptionTexts& a,
                                const OptionTexts& b) {
  const std::string key = first_difference(a, b);
  if (key.empty()) return;
  throw usage_error("table: runs of different data: data.{}.{} is {} in '{}' and {} in '{}'; {}", split, key, option_text(a, key),
                    first.path, option_text(b, key), run.path, kApart);
}

void require_evaluated_data_alike(const RunRecord& first, const RunRecord& run, const std::string& split) {
  const DataLikeness likeness = compare_run_data(first, run, split);
  if (likeness == DataLikeness::kAlike) return;
  require_data_options_alike(first, run, split, data_options(first, split),
                             data_options(run, split));  // which has more to say than that the images differ
  if (likeness == DataLikeness::kDifferent) refuse_images(first, run, split);
}

void require_one_batch(const RunRecord& first, const RunRecord& run, const std::string& metric) {
  const std::string a = evaluated_batch(first, metric), b = evaluated_batch(run, metric);
  if (a == b) return;
  throw usage_error("table: {} is searched in batches of different sizes: train.batch_size is {} in '{}' and {} in '{}'; {}", metric,
                    a.empty() ? "not there" : a, first.path, b.empty() ? "not there" : b, run.path, kApart);
}

// The epoch that `select` chose depends on it, and on when it was measured.
bool decides_epoch(const std::string& key) { return key == "evaluate.select" || key == "evaluate.every"; }

// The evaluation of a number, also if training has recorded it, too: a later `debias eval` by other options is another number.
const EvaluationRecord* evaluation_of(const RunRecord& run, const std::string& metric, const TableReading& reading) {
  const EvaluationRecord* record = record_at(run, metric, reading);
  return record != nullptr && *record->metric(metric) == value_at(run, metric, reading) ? record : nullptr;
}

// The recipe of the number's evaluation.
OptionTexts recipe_of(const RunRecord& run, const EvaluationRecord* evaluation) {
  OptionTexts recipe;
  for (const auto& [key, value] : flattened(run.config)) recipe[key] = value;
  if (evaluation == nullptr) return recipe;
  for (const auto& [key, value] : evaluation->recipe_changes) {
    recipe.erase(key);
    if (value) recipe[key] = *value;
  }
  return recipe;
}

// Setting of a number, beside the data and how it was evaluated.
OptionTexts setting_of(const OptionTexts& recipe, const TableReading& reading) {
  OptionTexts options;
  for (const auto& [key, value] : recipe) {
    const bool counts = changes_training(key) || is_of_section(key, "views.eval");
    const bool chooses = reading.epoch.which == TableEpoch::kSelected && decides_epoch(key);
    if ((counts && key != "seed") || chooses) options[key] = value;
  }
  return options;
}

// True if the options of a protocol may affect a metric: those of kNN and of a probe may, whose predictions others evaluate; those of a
// protocol that has left a file without the metric are not.
bool may_measure(const std::string& protocol, const RunRecord& run, const std::string& metric) {
  if (protocol == "knn" || protocol.starts_with("linear")) return true;
  return std::ranges::none_of(run.evaluations, [&](const EvaluationRecord& record) {
    return record.protocol == protocol && record.data.empty() && record.metric(metric) == nullptr;
  });
}

// Options of drawing and display, or of an interval's width.
bool is_in_no_number(std::string_view option) {
  constexpr std::array<std::string_view, 5> kNames = {"seed", "examples", "bootstrap", "level", "bins"};
  return std::ranges::find(kNames, option) != kNames.end();
}

// What the recipe asks of every protocol and of those that may be behind a metric. An evaluation says its own options itself, but not those
// of the protocol whose predictions it evaluates.
OptionTexts evaluation_options_of(const OptionTexts& recipe, const RunRecord& run, const std::string& metric,
                                  const EvaluationRecord* evaluation) {
  constexpr std::string_view kEvaluate = "evaluate.";
  OptionTexts options;
  for (const auto& [key, value] : recipe) {
    if (!key.starts_with(kEvaluate) || decides_epoch(key) || key == "evaluate.on_error" || is_of_section(key, "evaluate.protocols"))
      continue;
    const size_t dot = key.find('.', kEvaluate.size());
    const std::string protocol = key.substr(kEvaluate.size(), dot - kEvaluate.size());
    const bool measures = evaluation == nullptr ? may_measure(protocol, run, metric) : evaluation->evaluates_predictions_of(protocol);
    if ((dot == std::string::npos || measures) && !is_in_no_number(key.substr(key.rfind('.') + 1))) options[key] = value;
  }
  return options;
}

std::string parent_of(const std::string& key) { return key.substr(0, std::min(key.size(), key.rfind('.'))); }

// Recipes of older versions lack the options that a section has gained since; the defaults are what they did. A section or an entry of a
// list that one of the two lacks is not such an option.
void leave_out_gained(OptionTexts& options, const OptionTexts& other) {
  const auto has_section = [&](const std::string& section) {
    const auto next = other.lower_bound(section + ".");
    return next != other.end() && is_of_section(next->first, section);
  };
  std::erase_if(options, [&](const auto& entry) {
    return !other.contains(entry.first) && entry.first.find('.') != std::string::npos && has_section(parent_of(entry.first));
  });
}

[[noreturn]] void refuse_row(const ComparedRow& row, const std::string& key, const RunRecord& first, const std::string& was,
                             const RunRecord& run, const std::string& is) {
  throw usage_error("table: the runs of '{}' are not alike but for their seed: {} is {} in '{}' and {} in '{}'; {}",
                    row.label.empty() ? "(all)" : row.label, key, was, first.path, is, run.path, kApart);
}

void require_options_alike(const ComparedRow& row, const RunRecord& first, OptionTexts a, const RunRecord& run, OptionTexts b) {
  if (first.of_environment("debias") != run.of_environment("debias")) {
    const OptionTexts as_it_was = a;
    leave_out_gained(a, b);
    leave_out_gained(b, as_it_was);
  }
  const std::string key = first_difference(a, b);
  if (!key.empty()) refuse_row(row, key, first, option_text(a, key), run, option_text(b, key));
}

// The first option of their protocol that two evaluations, which both know it, were made with otherwise, and on which numbers depend; ""
// where there is none.
std::string differing_option(const EvaluationRecord& a, const EvaluationRecord& b) {
  for (const auto& [key, value] : a.options.items()) {
    const auto other = b.options.find(key);
    if (!is_in_no_number(key) && other != b.options.end() && *other != value) return key;
  }
  return "";
}

// Where the metric is of aligned or of conflicting images.
bool are_aligned_otherwise(const EvaluationRecord& a, const EvaluationRecord& b, const std::string& metric) {
  const std::string name = split_of(metric).name;
  if ((name != "aligned_acc" && name != "conflicting_acc") || !a.aligned || !b.aligned) return false;
  return a.aligned->biases_of_class != b.aligned->biases_of_class;
}

void require_setting_alike(const ComparedRow& row, const RunRecord& first, const RunRecord& run, const std::string& metric,
                           const TableReading& reading) {
  const EvaluationRecord *a = evaluation_of(first, metric, reading), *b = evaluation_of(run, metric, reading);
  const OptionTexts recipe_of_first = recipe_of(first, a), recipe = recipe_of(run, b);
  require_options_alike(row, first, setting_of(recipe_of_first, reading), run, setting_of(recipe, reading));
  const bool are_known = a != nullptr && b != nullptr && a->protocol == b->protocol;
  require_options_alike(row, first, evaluation_options_of(recipe_of_first, first, metric, are_known ? a : nullptr), run,
                        evaluation_options_of(recipe, run, metric, are_known ? b : nullptr));
  if (!are_known) return;
  const std::string key = differing_option(*a, *b);
  if (!key.empty()) refuse_row(row, a->protocol + " " + key, first, a->options.at(key).dump(), run, b->options.at(key).dump());
  if (are_aligned_otherwise(*a, *b, metric)) {
    refuse_row(row, "which bias labels belong to which class", first, "given by " + a->aligned->by, run, "otherwise, by " + b->aligned->by);
  }
}

// A section of the run's data with the seed that it was opened with.
Json as_opened(const RunRecord& run, const DataFacts& data) {
  Json section = data.section;
  int64_t seed = 0;
  if (data.follows_seed() && parse_integer(run.seed(), &seed)) section["seed"] = seed;
  return section;
}

// A split that `debias eval` was given in place of the run's own, as JSON; empty if it evaluated the run's.
std::string other_split(const RunRecord& run, const EvaluationRecord& record, const std::string& split) {
  const auto evaluated = record.evaluated.find(split);
  if (evaluated == record.evaluated.end() || !evaluated->is_object()) return "";
  const Json own = as_opened(run, run.recipe.data_of(split));
  const auto is_other = [&](const auto& entry) {
    const auto found = own.find(entry.key());
    return found != own.end() && *found != entry.value();
  };
  for (const auto& entry : evaluated->items()) {
    if (own.empty() || !own.is_object() || is_other(entry)) return evaluated->dump();
  }
  return "";
}

void require_one_evaluated_set(const ShownNumber& first, const ShownNumber& shown, const TableReading& reading) {
  const auto data_of = [&](const ShownNumber& number) {
    return other_data(*number.run, evaluation_of(*number.run, number.metric, reading), number.metric);
  };
  const std::string was = data_of(first), is = data_of(shown);
  if (was == is) return;
  throw usage_error("table: runs of different data: debias eval has evaluated {} in '{}' and {} in '{}'; {}",
                    was.empty() ? "the run's own" : was, first.run->path, is.empty() ? "the run's own" : is, shown.run->path, kApart);
}

// Runs of a row, each compared with the first, and its data with the first that tells them.
class RowOfRuns {
 public:
  RowOfRuns(const ComparedRow& row, const std::string& metric, const TableReading& reading)
      : row_(row), metric_(metric), reading_(reading) {}

  void add(const RunRecord& run) {
    require_data_alike("train", run);
    if (reading_.epoch.which == TableEpoch::kSelected) require_data_alike("valid", run);
    if (first_ == nullptr) first_ = &run;
    require_setting_alike(row_, *first_, run, metric_, reading_);
  }

 private:
  void require_data_alike(const std::string& split, const RunRecord& run) {
    if (!run.data_sets.contains(split)) return;
    const RunRecord& known = *telling_.try_emplace({split, draw_of(run, split)}, &run).first->second;
    if (compare_run_data(known, run, split) == DataLikeness::kDifferent) refuse_images(known, run, split);
  }

  const ComparedRow& row_;
  const std::string& metric_;
  const TableReading& reading_;
  const RunRecord* first_ = nullptr;
  std::map<std::pair<std::string, std::string>, const RunRecord*> telling_;  // by split and draw
};

std::string other_training_data(const ComparedRuns& compared) {
  const RunRecord* first = nullptr;
  for (const auto& row : compared.rows) {
    if (!row.variant.empty() || !row.grid.empty() || row.runs.empty()) continue;
    const RunRecord& run = compared.runs[row.runs.front()];
    if (first == nullptr) first = &run;
    const DataLikeness likeness = compare_run_data(*first, run, "train");
    if (likeness == DataLikeness::kAlike) continue;
    const OptionTexts a = data_options(*first, "train"), b = data_options(run, "train");
    if (const std::string key = first_difference(a, b); !key.empty())
      return fmt::format("trained on other data: data.train.{} is {} in '{}' and {} in '{}'", key, option_text(a, key), first->path,
                         option_text(b, key), run.path);
    if (likeness == DataLikeness::kDifferent)
      return fmt::format("trained on other data: the samples, labels or bias labels of data.train are not the same in '{}' and '{}'",
                         first->path, run.path);
  }
  return "";
}

}  // namespace

bool are_evaluated_alike(const EvaluationRecord* a, const EvaluationRecord* b, const std::string& metric) {
  const bool are_known = a != nullptr && b != nullptr && a->protocol == b->protocol;
  const auto changes = [&](const EvaluationRecord* record) {
    OptionTexts texts;
    if (record == nullptr) return texts;
    if (record->bias_values) texts["bias_values"] = record->bias_values->digest;
    for (const auto& [key, value] : record->recipe_changes) {
      const bool stands_in_options = are_known && is_of_section(key, "evaluate." + record->protocol);
      if (!stands_in_options && !is_in_no_number(key.substr(key.rfind('.') + 1))) texts[key] = value.value_or("");
    }
    return texts;
  };
  if (!first_difference(changes(a), changes(b)).empty()) return false;
  if (!are_known) return true;
  return differing_option(*a, *b).empty() && !are_aligned_otherwise(*a, *b, metric);
}

std::string other_data(const RunRecord& run, const EvaluationRecord* evaluation, const std::string& metric) {
  const std::string split = split_of(metric).split;
  if (evaluation == nullptr || split.empty()) return "";
  std::string other = other_split(run, *evaluation, split);
  // Data that a classifier or the neighbours are fitted to.
  if (const std::string train = split == "train" ? "" : other_split(run, *evaluation, "train"); !train.empty())
    other += (other.empty() ? "" : ", ") + ("train " + train);
  if (!evaluation->accepted_changes.empty())
    other += fmt::format("{}changed since training: {}", other.empty() ? "" : ", ", fmt::join(evaluation->accepted_changes, ", "));
  return other;
}

std::string evaluated_batch(const RunRecord& run, const std::string& metric) {
  return run.titles->of(metric).of_batch ? run.recipe.batch_size : "";
}

void require_same_data(const std::vector<ShownNumber>& numbers, const TableReading& reading) {
  std::map<std::string, const ShownNumber*> of_split;                         // the first of each split
  std::map<std::pair<std::string, std::string>, const ShownNumber*> telling;  // and of each draw of it the first that tells its data
  for (const auto& shown : numbers) {
    const RunRecord& run = *shown.run;
    require_data_options_alike(*numbers.front().run, run, "train", data_name(*numbers.front().run), data_name(run));
    require_one_batch(*numbers.front().run, run, shown.metric);
    const std::string split = split_of(shown.metric).split;
    if (split.empty()) continue;
    const ShownNumber& first = *of_split.try_emplace(split, &shown).first->second;
    require_evaluated_data_alike(*first.run, run, split);
    require_one_evaluated_set(first, shown, reading);
    if (!run.data_sets.contains(split)) continue;
    require_evaluated_data_alike(*telling.try_emplace({split, draw_of(run, split)}, &shown).first->second->run, run, split);
  }
}

void require_row_alike(const ComparedRuns& compared, const ComparedRow& row, const std::string& metric, const TableReading& reading) {
  RowOfRuns runs(row, metric, reading);
  for (const size_t number : row.runs) {
    if (const RunRecord& run = compared.runs[number]; !std::isnan(value_at(run, metric, reading))) runs.add(run);
  }
}

std::vector<std::string> data_notes(const ComparedRuns& compared) {
  std::vector<std::string> notes;
  if (auto other = other_training_data(compared); !other.empty()) notes.push_back(std::move(other));
  const auto runs = runs_of_rows(compared);
  const auto changed = std::ranges::count_if(runs, [](const RunRecord* run) { return run->data_sets.contains(kAcceptedChanges); });
  if (changed > 0)
    notes.push_back(fmt::format("{} of {} runs resumed on data that had changed (--accept-data-change)", changed, runs.size()));
  std::vector<std::vector<const RunRecord*>> settings;
  for (const auto& row : compared.rows) {
    settings.emplace_back();
    for (const size_t run : row.runs) settings.back().push_back(&compared.runs[run]);
  }
  if (auto words = shared_draw_words(settings); !words.empty()) notes.push_back(std::move(words));
  return notes;
}

}  // namespace debias
