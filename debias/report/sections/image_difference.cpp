#include "debias/report/sections/image_difference.h"

#include <algorithm>
#include <cmath>

#include "debias/results/predictions.h"
#include "debias/results/statistics.h"

namespace debias {
namespace {

MarkedImages images_of(const std::string& metric) {
  const std::string name = split_of(metric).name;
  return name == "conflicting_acc" ? MarkedImages::kConflicting : name == "aligned_acc" ? MarkedImages::kAligned : MarkedImages::kAll;
}

const std::string* marks_of(const KeyNumber& number, const std::string& split) {
  if (number.evaluation == nullptr) return nullptr;
  const auto found = number.evaluation->marks.find(split);
  return found == number.evaluation->marks.end() ? nullptr : &found->second;
}

// None where the marks do not add up to the numbers: they are of other predictions.
std::optional<PairedCounts> counts_of(const NumberRow& row, size_t a, size_t b) {
  constexpr double kRounding = 1e-9;
  const std::string split = split_of(row.metric).split;
  const KeyNumber &first = *row.by_column[a], &second = *row.by_column[b];
  const std::string *marks = marks_of(first, split), *others = marks_of(second, split);
  if (marks == nullptr || others == nullptr || !are_of_one_set(*marks, *others)) return std::nullopt;
  const PairedCounts counts = paired_counts(*marks, *others, images_of(row.metric));
  const bool add_up =
      std::fabs(counts.first() - first.value) < kRounding && std::fabs(counts.second() - second.value) < kRounding;  // not of NaN
  return add_up ? std::optional(counts) : std::nullopt;
}

// Number of images behind a number; 0: unknown.
int64_t image_count(const RunRecord& run, const KeyNumber& number, const std::string& metric) {
  const std::string split = split_of(metric).split;
  if (const MarkedImages images = images_of(metric); images != MarkedImages::kAll) {
    const EvaluationRecord* groups = run.evaluation("groups");
    const auto counts = groups == nullptr ? std::nullopt : groups->aligned_counts(split);
    return !counts ? 0 : images == MarkedImages::kAligned ? counts->aligned : counts->conflicting;
  }
  if (number.evaluation != nullptr) {
    const auto found = std::ranges::find(number.evaluation->counts, split, &std::pair<std::string, int64_t>::first);
    if (found != number.evaluation->counts.end()) return found->second;
  }
  return run.data_sets.contains(split) ? value_or(run.data_sets.at(split), "count", int64_t{0}) : 0;
}

}  // namespace

std::optional<ImageDifference> image_difference(const NumberRow& row, const std::vector<RunColumn>& columns, size_t a, size_t b) {
  const auto is_known = [&](size_t column) {
    return !columns[column].has_seeds() && row.by_column[column] && !std::isnan(row.by_column[column]->value);
  };
  if (!is_known(a) || !is_known(b)) return std::nullopt;
  const KeyNumber &first = *row.by_column[a], &second = *row.by_column[b];
  const double mean = first.value - second.value;
  if (const auto counts = counts_of(row, a, b)) {
    return ImageDifference{mean, difference_interval(*counts), equal_shares_p(*counts), true, counts->images()};
  }
  const int64_t of_a = image_count(columns[a].shown(), first, row.metric), of_b = image_count(columns[b].shown(), second, row.metric);
  if (of_a < 1 || of_b < 1) return std::nullopt;
  const Proportion one{first.value, static_cast<double>(of_a)}, other{second.value, static_cast<double>(of_b)};
  return ImageDifference{mean, difference_interval(one, other), equal_shares_p(one, other), false, std::min(of_a, of_b)};
}

}  // namespace debias
