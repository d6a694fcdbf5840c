#include "debias/report/tables/number_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "debias/report/charts/axis.h"
#include "debias/report/tables/table_reading.h"

namespace debias {
namespace {

constexpr const char* kOutside = "†";
constexpr double kAlikeViews = 1e-12;  // an alignment below is that of two equal views, up to rounding

std::string bare_number(Unit unit, double value) { return unit == Unit::kShare ? fmt::format("{:.2f}", 100 * value) : short_number(value); }

bool compares_a_view_with_itself(const NumberRow& row, const KeyNumber& number) {
  return split_of(row.metric).name == "alignment" && std::fabs(number.value) < kAlikeViews;
}

std::string interval_text(Unit unit, const KeyNumber& number) {
  switch (number.kind) {
    case IntervalKind::kNone:
      return "";
    case IntervalKind::kImages:
    case IntervalKind::kDraws:
      return fmt::format("[{}, {}]{}", bare_number(unit, number.interval.first), bare_number(unit, number.interval.second),
                         number.outside() ? kOutside : "");
    case IntervalKind::kSeeds:
      break;
  }
  const double half_width = number.interval.second - number.value;
  return "± " + (unit == Unit::kShare ? bare_number(unit, half_width)
                 : half_width < 100   ? fmt::format("{:.2g}", half_width)
                                      : fmt::format("{:.0f}", half_width));
}

std::string remark_text(const std::vector<NumberRow>& rows, const NumberRow& row, size_t column) {
  const KeyNumber& number = *row.by_column[column];
  std::string remark;
  const auto add = [&](const std::string& part) { remark += (remark.empty() ? "" : ", ") + part; };
  const double chance = chance_of(rows, row, column);
  if (!std::isnan(chance)) add("chance " + percent_text(chance, 2));
  if (compares_a_view_with_itself(row, number)) add("equal views");
  const auto runs = std::ssize(number.by_seed);
  if (number.seeds() < runs) add(fmt::format("{} of {} seeds", number.seeds(), runs));
  return remark.empty() ? "" : "(" + remark + ")";
}

// The first run that was evaluated at another epoch than the one that its held-out images chose; null if there is none.
const RunRecord* evaluated_elsewhere(const std::vector<RunColumn>& columns) {
  const auto is_elsewhere = [](const RunRecord& run) {
    const double selected = run.recipe.select.empty() ? 0 : selected_epoch(run);
    if (selected == 0) return false;
    const auto is_own = [](const EvaluationRecord& record) { return record.data.empty() && record.epoch > 0; };
    const auto is_other = [&](const EvaluationRecord& record) { return is_own(record) && static_cast<double>(record.epoch) != selected; };
    return std::ranges::any_of(run.evaluations, is_other) ||
           (std::ranges::none_of(run.evaluations, is_own) && static_cast<double>(run.epochs_done) != selected);
  };
  for (const auto& column : columns) {
    for (const RunRecord* run : column.runs) {
      if (is_elsewhere(*run)) return run;
    }
  }
  return nullptr;
}

template <class Predicate>
bool any_number(const std::vector<NumberRow>& rows, Predicate&& holds) {
  return std::ranges::any_of(rows, [&](const NumberRow& row) {
    return std::ranges::any_of(row.by_column, [&](const auto& number) { return number && holds(row, *number); });
  });
}

}  // namespace

NumberText number_text(const std::vector<NumberRow>& rows, const NumberRow& row, size_t column) {
  const auto& number = row.by_column[column];
  if (!number) return {"–", "", ""};
  if (std::isnan(number->value)) return {"undefined", "", ""};
  return {metric_number(row.title.unit, number->value), interval_text(row.title.unit, *number), remark_text(rows, row, column)};
}

bool has_own_row(const std::vector<NumberRow>& rows, const NumberRow& row) {
  const SplitName name = split_of(row.metric);
  const auto equal = [](const std::optional<KeyNumber>& a, const std::optional<KeyNumber>& b) {
    return a.has_value() == b.has_value() && (!a || a->value == b->value);
  };
  if (name.name == "knn_acc1") {  // `groups` has the same number, with its interval
    const NumberRow* same = find_row(rows, row.data, name.split + ".acc1", "knn");
    if (same != nullptr && std::ranges::equal(row.by_column, same->by_column, equal)) return false;
  }
  return std::ranges::none_of(rows, [&](const NumberRow& other) {
    return other.data == row.data && split_of(other.metric).split == name.split &&
           std::ranges::find(other.title.chance, name.name) != other.title.chance.end();
  });
}

std::vector<std::string> number_notes(const std::vector<RunColumn>& columns, const std::vector<NumberRow>& rows) {
  std::vector<std::string> notes;
  const auto of_kind = [&](IntervalKind kind) {
    return any_number(rows, [&](const NumberRow&, const KeyNumber& number) { return number.kind == kind; });
  };
  if (of_kind(IntervalKind::kSeeds)) {
    notes.push_back("Of several seeds: the mean ± half of its 95 % interval (Student's t over the seeds).");
  }
  if (of_kind(IntervalKind::kImages)) {
    const std::string level = interval_level(columns);
    notes.push_back(
        fmt::format("In brackets: {}{}bootstrap interval over the evaluated {}; it does not cover other "
                    "training seeds.",
                    level, level.empty() ? "" : " ", sampled_units(columns)));
  }
  if (of_kind(IntervalKind::kDraws)) {
    notes.push_back("In brackets behind low-shot numbers: interval over draws of the labelled training images (Student's t).");
  }
  if (any_number(rows, [](const NumberRow&, const KeyNumber& number) { return number.outside(); })) {
    notes.push_back(
        fmt::format("{} The number is outside its interval: redrawn images shift the least of several small groups "
                    "downwards. Take neither end for where the truth is.",
                    kOutside));
  }
  if (any_number(rows, [](const NumberRow&, const KeyNumber& number) { return number.evaluated_otherwise; })) {
    notes.push_back(
        "Undefined: runs of one column were evaluated with other options or on other data; evaluate them alike with debias eval.");
  }
  if (const RunRecord* run = evaluated_elsewhere(columns)) {
    notes.push_back(fmt::format("Numbers are of the last evaluated epoch, not of the one that evaluate.select ({}) chose{}.",
                                run->recipe.select,
                                run->of_images() ? "; debias eval PROTOCOLS RUN --checkpoint best evaluates that one" : ""));
  }
  if (any_number(rows, compares_a_view_with_itself)) {
    notes.push_back(
        "Equal views: the recipe's views change nothing, so alignment compares each image with itself and is 0 for any network.");
  }
  if (std::ranges::any_of(rows, [](const NumberRow& row) { return row.best >= 0; })) {
    notes.push_back(columns.front().has_seeds()
                        ? "Best (bold, or *): the difference to every other column is larger than the seeds' spread (95 %)."
                        : "Best (bold, or *): no other run's interval over the images reaches this one's; seeds may differ by more.");
  }
  return notes;
}

}  // namespace debias
