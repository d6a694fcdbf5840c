#include "debias/report/table_likeness.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "debias/core/error.h"
#include "debias/report/recipe_text.h"
#include "debias/results/data_sets.h"

namespace debias {
namespace {

using OptionTexts = std::map<std::string, std::string>;  // by key

// The first key at which two maps differ, "" where they do not.
std::string first_difference(const OptionTexts& a, const OptionTexts& b) {
  for (const auto* one : {&a, &b}) {
    const auto& other = one == &a ? b : a;
    for (const auto& [key, value] : *one) {
      const auto found = other.find(key);
      if (found == other.end() || found->second != value) return key;
    }
  }
  return "";
}

std::string option_text(const OptionTexts& options, const std::string& key) {
  const auto found = options.find(key);
  return found == options.end() || found->second.empty() ? "not there" : found->second;
}

OptionTexts data_options(const RunRecord& run, const std::string& split) {
  OptionTexts options;
  const Config* data = run.config.find("data");
  const Config* section = data == nullptr ? nullptr : data->find(split);
  if (section == nullptr || !section->is_map()) return options;
  const bool files = text_at_path(*section, {"name"}) == "image_folder";  // other folders may hold other images
  for (const auto& [key, value] : flattened(*section)) {
    if (files || key != "root") options[key] = value;
  }
  return options;
}

std::string count_text(const RunRecord& run, const std::string& split) {
  return read_fields(run.path, [&] { return fmt::format("{}", value_or(run.data_sets.at(split), "count", int64_t{0})); });
}

[[noreturn]] void refuse_images(const RunRecord& first, const RunRecord& run, const std::string& split) {
  throw usage_error(
      "table: runs of different data: the images, labels or bias values of data.{} are not the same in '{}' ({} images) and '{}' ({}); "
      "make a table of each",
      split, first.path, count_text(first, split), run.path, count_text(run, split));
}

void require_options_alike(const RunRecord& first, const RunRecord& run, const std::string& split, const std::string& key) {
  const OptionTexts a = data_options(first, split), b = data_options(run, split);
  const std::string differing = key.empty() ? first_difference(a, b) : option_text(a, key) == option_text(b, key) ? "" : key;
  if (differing.empty()) return;
  throw usage_error("table: runs of different data: data.{}.{} is {} in '{}' and {} in '{}'; make a table of each", split, differing,
                    option_text(a, differing), first.path, option_text(b, differing), run.path);
}

void require_judged_data_alike(const RunRecord& first, const RunRecord& run, const std::string& split) {
  const DataLikeness likeness = compare_data_sets(first.data_sets, run.data_sets, split);
  if (likeness == DataLikeness::kAlike) return;
  require_options_alike(first, run, split, "");  // which has more to say than that the images differ
  if (likeness == DataLikeness::kDifferent) refuse_images(first, run, split);
}

void require_one_batch(const RunRecord& first, const RunRecord& run, const std::string& metric) {
  const std::string a = judged_batch(first, metric), b = judged_batch(run, metric);
  if (a == b) return;
  throw usage_error(
      "table: {} is sought in batches of different sizes: train.batch_size is {} in '{}' and {} in '{}'; make a table of each", metric,
      a.empty() ? "not there" : a, first.path, b.empty() ? "not there" : b, run.path);
}

bool begins_with_one_of(const std::string& key, const auto& keys) {
  return std::ranges::any_of(
      keys, [&](std::string_view start) { return key.starts_with(start) && (key.size() == start.size() || key[start.size()] == '.'); });
}

// Names and places, how the work was shared out, and what decides when and where is judged: none is in a number.
bool leaves_numbers_alone(const std::string& key) {
  constexpr std::array<std::string_view, 19> kKeys = {"seed",
                                                      "output",
                                                      "name",
                                                      "expected",
                                                      "train.workers",
                                                      "train.prefetch",
                                                      "train.threads",
                                                      "train.log_every",
                                                      "train.checkpoint_every",
                                                      "train.on_full_disk",
                                                      "train.rank_timeout",
                                                      "data.verify",
                                                      "evaluate.every",
                                                      "evaluate.protocols",
                                                      "evaluate.select",
                                                      "evaluate.on_error",
                                                      "data.valid",
                                                      "data.test",
                                                      "environment.seed"};
  constexpr std::array<std::string_view, 4> kPlaces = {"root", "labels", "vocabulary", "cache"};  // data_sets.h says what lies there
  const bool is_place = std::ranges::any_of(kPlaces, [&](std::string_view place) { return key == fmt::format("data.train.{}", place); });
  return is_place || begins_with_one_of(key, kKeys);
}

// The protocols that measured it; empty where no file says.
std::set<std::string> protocols_with(const RunRecord& run, const std::string& metric) {
  std::set<std::string> protocols;
  for (const auto& record : run.evaluations) {
    if (record.data.empty() && record.metric(metric) != nullptr) protocols.insert(record.protocol);
  }
  return protocols;
}

OptionTexts options_behind(const RunRecord& run, const std::string& metric) {
  const std::set<std::string> protocols = protocols_with(run, metric);
  constexpr std::string_view kEvaluate = "evaluate.";
  OptionTexts options;
  for (const auto& [key, value] : flattened(run.config)) {
    if (leaves_numbers_alone(key)) continue;
    if (key.starts_with(kEvaluate) && !protocols.empty()) {
      const std::string protocol = key.substr(kEvaluate.size(), key.find('.', kEvaluate.size()) - kEvaluate.size());
      if (protocol != "unknown_classes" && !protocols.contains(protocol)) continue;
    }
    options[key] = value;
  }
  return options;
}

// Recipes of older versions lack the options that were gained since; the defaults are what they did. Those of protocols are no more than
// what was asked for.
void keep_common(OptionTexts& a, OptionTexts& b) {
  const auto is_gained = [](const OptionTexts& other) {
    return [&other](const auto& entry) { return !entry.first.starts_with("evaluate.") && !other.contains(entry.first); };
  };
  std::erase_if(a, is_gained(b));
  std::erase_if(b, is_gained(a));
}

[[noreturn]] void refuse_row(const ComparedRow& row, const std::string& key, const RunRecord& first, const std::string& was,
                             const RunRecord& run, const std::string& is) {
  throw usage_error("table: the runs of '{}' are not alike but for their seed: {} is {} in '{}' and {} in '{}'; make a table of each",
                    row.label.empty() ? "(all)" : row.label, key, was, first.path, is, run.path);
}

void require_settings_alike(const ComparedRow& row, const RunRecord& first, const RunRecord& run, const std::string& metric) {
  if (compare_data_sets(first.data_sets, run.data_sets, "train") == DataLikeness::kDifferent) refuse_images(first, run, "train");
  OptionTexts a = options_behind(first, metric), b = options_behind(run, metric);
  keep_common(a, b);
  if (const std::string key = first_difference(a, b); !key.empty())
    refuse_row(row, key, first, option_text(a, key), run, option_text(b, key));
}

// Of numbers that debias eval has left, not training.
void require_judged_by_one(const ComparedRow& row, const RunRecord& first, const RunRecord& run, const std::string& metric,
                           const TableReading& reading) {
  const EvaluationRecord *a = judgement_behind(first, metric, reading), *b = judgement_behind(run, metric, reading);
  if (a == nullptr || b == nullptr || a->protocol != b->protocol) return;
  const std::string key = differing_option(a->options, b->options);
  if (!key.empty()) refuse_row(row, a->protocol + " " + key, first, a->options.at(key).dump(), run, b->options.at(key).dump());
}

}  // namespace

std::string differing_option(const Json& a, const Json& b) {
  for (const auto& [key, value] : a.items()) {
    if (key == "digest") continue;  // judged_texts.h compares that of the one task
    const auto other = b.find(key);
    if (key != "seed" && other != b.end() && *other != value) return key;
  }
  return "";
}

std::string judged_batch(const RunRecord& run, const std::string& metric) {
  return split_of(metric).name == "neighbour_acc" ? text_at_path(run.config, {"train", "batch_size"}) : "";
}

void require_same_data(const ComparedRuns& compared, const std::string& metric) {
  const std::string split = split_of(metric).split;
  const RunRecord* first = nullptr;
  for (const RunRecord* run : runs_of_rows(compared)) {
    if (first == nullptr) first = run;
    require_options_alike(*first, *run, "train", "name");
    if (!split.empty()) require_judged_data_alike(*first, *run, split);
    require_one_batch(*first, *run, metric);
  }
}

void require_rows_alike(const ComparedRuns& compared, const std::string& metric, const TableReading& reading) {
  for (const auto& row : compared.rows) {
    const RunRecord* first = nullptr;
    for (const size_t number : row.runs) {
      const RunRecord& run = compared.runs[number];
      if (std::isnan(value_at(run, metric, reading))) continue;
      if (first == nullptr) first = &run;
      require_settings_alike(row, *first, run, metric);
      require_judged_by_one(row, *first, run, metric, reading);
    }
  }
}

std::vector<std::string> training_data_notes(const ComparedRuns& compared) {
  const RunRecord* first = nullptr;
  for (const auto& row : compared.rows) {
    if (!row.variant.empty() || !row.grid.empty() || row.runs.empty()) continue;
    const RunRecord& run = compared.runs[row.runs.front()];
    if (first == nullptr) first = &run;
    const DataLikeness likeness = compare_data_sets(first->data_sets, run.data_sets, "train");
    if (likeness == DataLikeness::kAlike) continue;
    const OptionTexts a = data_options(*first, "train"), b = data_options(run, "train");
    const std::string key = first_difference(a, b);
    if (!key.empty())
      return {fmt::format("trained on other data: data.train.{} is {} in '{}' and {} in '{}'", key, option_text(a, key), first->path,
                          option_text(b, key), run.path)};
    if (likeness == DataLikeness::kDifferent)
      return {fmt::format("trained on other data: the images, labels or bias values of data.train are not the same in '{}' and '{}'",
                          first->path, run.path)};
  }
  return {};
}

}  // namespace debias
