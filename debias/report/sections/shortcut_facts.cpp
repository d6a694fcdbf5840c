#include "debias/report/sections/shortcut_facts.h"

#include <fmt/format.h>

#include <cmath>

#include "debias/report/charts/axis.h"
#include "debias/report/seed_interval.h"

namespace debias {
namespace {

constexpr double kFarBetter = 0.3;

// The mean over the seeds of a metric of the epoch lines; NaN where a seed lacks it.
double mean_of_last(const RunColumn& column, const std::string& metric) {
  double sum = 0;
  for (const RunRecord* run : column.runs) sum += run->history.last_of_epochs(metric);
  return sum / static_cast<double>(column.runs.size());
}

std::string joined(const std::vector<std::string>& names) {
  std::string words;
  for (const auto& name : names) words += (words.empty() ? "" : " or ") + name;
  return words;
}

const GroupTable* groups_of(const RunRecord& run, const std::string& split) {
  const EvaluationRecord* record = run.evaluation("groups");
  if (record == nullptr) return nullptr;
  const auto found = record->groups.find(split);
  return found == record->groups.end() ? nullptr : &found->second;
}

}  // namespace

std::string shortcut_words(const EvaluationRecord& groups) {
  constexpr size_t kShown = 4;
  if (!groups.aligned) return "";
  std::string words;
  size_t known = 0;
  for (const auto& [label, biases] : groups.aligned->biases_of_class) {
    if (biases.empty() || ++known > kShown) continue;
    words += words.empty() ? fmt::format(" The shortcut: bias label {} belongs to class {}", joined(biases), label)
                           : fmt::format(", {} with {}", joined(biases), label);
  }
  if (known > kShown) words += fmt::format(", and so on for {} classes", known);
  return words.empty() ? "" : words + ".";
}

std::optional<WorstGroup> worst_group(const RunColumn& column, const std::string& split) {
  const GroupTable* first = groups_of(column.shown(), split);
  if (first == nullptr) return std::nullopt;
  std::optional<WorstGroup> worst;
  for (size_t y = 0; y < first->labels.size(); ++y) {
    for (size_t b = 0; b < first->biases.size(); ++b) {
      if (first->count[y][b] == 0) continue;
      std::vector<double> values;
      for (const RunRecord* run : column.runs) {
        const GroupTable* table = groups_of(*run, split);
        const bool is_same = table != nullptr && table->labels == first->labels && table->biases == first->biases;
        if (is_same) values.push_back(table->accuracy[y][b]);
      }
      const double mean = seed_interval(values).mean;
      if (!std::isnan(mean) && (!worst || mean < worst->accuracy)) worst = {first->labels[y], first->biases[b], mean, first->count[y][b]};
    }
  }
  return worst;
}

std::string worst_group_words(const WorstGroup& group) {
  return fmt::format(" The worst group is class {} with bias label {}: {} of its {} images.", group.label, group.bias,
                     percent_text(group.accuracy), group.images);
}

std::optional<GeneralisationGap> generalisation_gap(const RunColumn& column) {
  GeneralisationGap gap{mean_of_last(column, "acc1"), mean_of_last(column, "test.acc1"), {}};
  if (!(gap.train - gap.test >= kFarBetter)) return std::nullopt;  // or NaN
  if (const double held_out = mean_of_last(column, "valid.acc1"); !std::isnan(held_out)) gap.held_out = held_out;
  return gap;
}

std::string gap_sign_words(const GeneralisationGap& gap) {
  std::string words = fmt::format(" The classifier is right on {} of the training images and on {} of the test images",
                                  percent_text(gap.train), percent_text(gap.test));
  if (!gap.held_out) {
    return words +
           ": a sign of a shortcut that training images share and test images lack. Overfitting looks the same; images held out of "
           "training (data.valid) would distinguish the two.";
  }
  words += fmt::format("; on training images that were held out it is right on {}", percent_text(*gap.held_out));
  return words + (gap.is_overfitting()
                      ? ", which is overfitting, not a sign of a shortcut."
                      : ", so it is not overfitting: a sign of a shortcut that training images share and test images lack.");
}

}  // namespace debias
