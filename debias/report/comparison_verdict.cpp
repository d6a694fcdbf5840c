#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>
#include <string_view>

#include "debias/report/axis.h"
#include "debias/report/column_difference.h"
#include "debias/report/prediction_source.h"
#include "debias/report/recipe_text.h"
#include "debias/report/verdict.h"

namespace debias {
namespace {

// Columns are compared by the first of these that all of them have, else by the one that most of them have.
struct Measure {
  std::string_view metric, of_what;
};
constexpr std::array kMeasures = {Measure{"conflicting_acc", "on bias-conflicting images"},
                                  Measure{"linear_acc1", "by a linear probe"},
                                  Measure{"linear_features_acc1", "by a linear probe"},
                                  Measure{"acc1", "in accuracy"},
                                  Measure{"knn_acc1", "by kNN"},
                                  Measure{"mean_classifier_acc1", "by the mean classifier"}};

bool has(const NumberRow& row, size_t column) {
  const auto& number = row.by_column[column];
  return number && !std::isnan(number->value);
}

// Columns that one number is known of.
struct Comparable {
  const NumberRow* row = nullptr;
  std::vector<size_t> columns;
};

Comparable largest_group(const std::vector<NumberRow>& rows, const std::vector<size_t>& among) {
  Comparable best;
  for (const char* split : {"test", "valid"}) {
    for (const auto& measure : kMeasures) {
      for (const char* source : {"classifier", "linear", "knn", ""}) {
        const NumberRow* row = find_row(rows, "", fmt::format("{}.{}", split, measure.metric), source);
        if (row == nullptr) continue;
        Comparable found{row, {}};
        std::ranges::copy_if(among, std::back_inserter(found.columns), [&](size_t column) { return has(*row, column); });
        if (found.columns.size() > best.columns.size()) best = std::move(found);
      }
    }
  }
  return best;
}

std::string words_of(const NumberRow& row) {
  const SplitName name = split_of(row.metric);
  const auto measure = std::ranges::find(kMeasures, name.name, &Measure::metric);
  const std::string source = row.source.empty() ? "" : fmt::format(" ({})", source_title(row.source));
  return fmt::format("{} of {}{}", measure->of_what, name.split, source);
}

std::string signed_points(double value) { return fmt::format("{:+.1f}", 100 * value); }

std::string interval_words(const ColumnDifference& difference) {
  return fmt::format("{} points, 95 % interval {} to {} over {}{} seeds", signed_points(difference.interval.mean),
                     signed_points(difference.interval.low()), signed_points(difference.interval.high()),
                     difference.paired ? "the same " : "at least ", difference.interval.n);
}

ColumnDifference difference_in(const NumberRow& row, const std::vector<RunColumn>& columns, size_t a, size_t b) {
  return column_difference(columns[a], row.by_column[a]->by_seed, columns[b], row.by_column[b]->by_seed);
}

// A run may win on conflicting images what it loses on aligned ones: that stands beside it.
std::string aligned_words(const std::vector<NumberRow>& rows, const NumberRow& row, const std::vector<RunColumn>& columns, size_t a,
                          size_t b) {
  const SplitName name = split_of(row.metric);
  if (name.name != "conflicting_acc") return "";
  const NumberRow* aligned = find_row(rows, "", name.split + ".aligned_acc", row.source);
  if (aligned == nullptr || !has(*aligned, a) || !has(*aligned, b)) return "";
  const ColumnDifference difference = difference_in(*aligned, columns, a, b);
  return difference.told() ? fmt::format(" On bias-aligned images: {}.", interval_words(difference))
                           : fmt::format(" On bias-aligned images: {} points.", signed_points(difference.interval.mean));
}

std::string unfinished_words(const std::vector<RunColumn>& columns, size_t a, size_t b) {
  std::string words;
  for (const size_t i : {a, b}) {
    const RunRecord& run = columns[i].shown();
    if (!run.finished()) words += fmt::format(" {} stands at {}.", columns[i].label, progress_text(run));
  }
  return words;
}

ComparisonVerdict compared(const std::vector<NumberRow>& rows, const NumberRow& row, const std::vector<RunColumn>& columns, size_t a,
                           size_t b) {
  const ColumnDifference difference = difference_in(row, columns, a, b);
  const std::string &first = columns[a].label, &second = columns[b].label;
  const std::string numbers =
      fmt::format("{} against {} {}", percent_text(row.by_column[a]->value), percent_text(row.by_column[b]->value), words_of(row));
  const std::string more = aligned_words(rows, row, columns, a, b) + unfinished_words(columns, a, b);
  if (std::isnan(difference.interval.half_width)) {
    return {Comparison::kTooFewSeeds, fmt::format("which of {} and {} is better cannot be told", first, second),
            fmt::format("{}: {} points, with a single seed{}. Seeds alone can make such a difference; train three or more of each.{}",
                        numbers, signed_points(difference.interval.mean),
                        columns[a].has_seeds() == columns[b].has_seeds() ? " each" : " on one side", more)};
  }
  if (!difference.told()) {
    return {Comparison::kTooFewSeeds, fmt::format("which of {} and {} is better cannot be told", first, second),
            fmt::format("{}: {} points in every seed. Seeds that do not differ say nothing about others; judge more images, or train more "
                        "seeds.{}",
                        numbers, signed_points(difference.interval.mean), more)};
  }
  if (difference.larger_than_spread()) {
    return {Comparison::kBetter, fmt::format("{} is better than {}, by more than the seeds' spread", first, second),
            fmt::format("{}: {}.{}", numbers, interval_words(difference), more)};
  }
  return {Comparison::kAlike, fmt::format("{} and {} cannot be told apart", first, second),
          fmt::format("{}: {}, which is within the seeds' spread.{}", numbers, interval_words(difference), more)};
}

std::string label_list(const std::vector<RunColumn>& columns, const std::vector<size_t>& chosen) {
  std::string words;
  for (size_t i = 0; i < chosen.size(); ++i) {
    words += fmt::format("{}{}", i == 0 ? "" : i + 1 == chosen.size() ? " and " : ", ", columns[chosen[i]].label);
  }
  return words;
}

// The best of the group against each of the others.
void add_group(const std::vector<NumberRow>& rows, const Comparable& group, const std::vector<RunColumn>& columns, const std::string& who,
               std::vector<ComparisonVerdict>& verdicts) {
  std::vector<RunColumn> members;
  for (const size_t i : group.columns) members.push_back(columns[i]);
  const std::string split = split_of(group.row->metric).split;
  if (!judged_alike(members, "", split)) {
    verdicts.push_back({Comparison::kNotComparable, fmt::format("{} cannot be compared", who),
                        fmt::format("Their files do not say that they were judged on the same {} data.", split)});
    return;
  }
  const size_t best = *std::ranges::max_element(group.columns, {}, [&](size_t i) { return group.row->by_column[i]->value; });
  for (const size_t i : group.columns) {
    if (i != best) verdicts.push_back(compared(rows, *group.row, columns, best, i));
  }
}

}  // namespace

std::vector<ComparisonVerdict> comparison_verdicts(const std::vector<RunColumn>& columns, const std::vector<NumberRow>& rows) {
  if (columns.size() < 2) return {};
  std::vector<ComparisonVerdict> verdicts;
  std::vector<size_t> rest(columns.size());
  std::iota(rest.begin(), rest.end(), size_t{0});
  while (!rest.empty()) {
    const Comparable group = largest_group(rows, rest);
    if (group.columns.size() < 2) break;
    add_group(rows, group, columns, group.columns.size() == columns.size() ? "the runs" : label_list(columns, group.columns), verdicts);
    std::erase_if(rest, [&](size_t i) { return std::ranges::find(group.columns, i) != group.columns.end(); });
  }
  if (rest.size() == columns.size()) {
    verdicts.push_back(
        {Comparison::kNotComparable, "the runs cannot be compared", "There is no accuracy that all of them were judged by."});
  } else if (!rest.empty()) {
    verdicts.push_back({Comparison::kNotComparable, fmt::format("{} cannot be compared with the others", label_list(columns, rest)),
                        "No accuracy is known that another run was judged by."});
  }
  return verdicts;
}

const char* comparison_name(Comparison comparison) {
  switch (comparison) {
    case Comparison::kBetter:
      return "better";
    case Comparison::kAlike:
      return "alike";
    case Comparison::kTooFewSeeds:
      return "too_few_seeds";
    case Comparison::kNotComparable:
      break;
  }
  return "not_comparable";
}

}  // namespace debias
