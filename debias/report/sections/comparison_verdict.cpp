#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "debias/report/charts/axis.h"
#include "debias/report/run_column.h"
#include "debias/report/sections/verdict.h"
#include "debias/report/seed_interval.h"
#include "debias/report/tables/key_numbers.h"
#include "debias/results/predictions.h"
#include "debias/results/statistics.h"

namespace debias {
namespace {

// The difference of an accuracy between two single runs, over the evaluated images: what other images of the kind would show of these two
// networks. It does not cover other seeds.
struct ImageDifference {
  double mean = 0;                     // a - b
  std::pair<double, double> interval;  // 95 %
  double p = 1;                        // of "no difference", two-sided
  bool paired = false;                 // image by image (Newcombe 1998 and McNemar); else as of different images
  int64_t images = 0;                  // of each run
  std::string groups = {};             // that the interval is over: "column patient"; empty: over the images
};

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
std::optional<PairedCounts> counts_of(const std::string& metric, const KeyNumber& first, const KeyNumber& second) {
  constexpr double kRounding = 1e-9;
  const std::string split = split_of(metric).split;
  const std::string *marks = marks_of(first, split), *others = marks_of(second, split);
  if (marks == nullptr || others == nullptr || !are_of_one_set(*marks, *others)) return std::nullopt;
  const PairedCounts counts = paired_counts(*marks, *others, images_of(metric));
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

Proportion evaluated_share(const RunRecord& run, const KeyNumber& number, const std::string& metric) {
  const auto images = static_cast<double>(image_count(run, number, metric));
  const EvaluationRecord* record = number.evaluation;
  return {number.value, record == nullptr ? images : images / record->design_effect(split_of(metric).split, images_of(metric))};
}

namespace {

// A number of a column. The data that two of them are of are the same (evaluated_alike).
struct ColumnNumber {
  const RunColumn* column = nullptr;
  const KeyNumber* number = nullptr;
};

// By which the number of images is divided because those of one group are alike.
double design_effect_of(const std::string& metric, const KeyNumber& first, const KeyNumber& second) {
  const std::string split = split_of(metric).split;
  for (const KeyNumber* of : {&first, &second}) {
    const auto group = of->evaluation->group_of.find(split);
    if (group == of->evaluation->group_of.end() || group->second.size() != marks_of(first, split)->size()) continue;
    return design_effect(*marks_of(first, split), marks_of(second, split), images_of(metric), group->second);
  }
  return first.evaluation->design_effect(split, images_of(metric));
}

std::string groups_of(const KeyNumber& number, const std::string& metric) {
  const bool any = number.evaluation != nullptr && number.evaluation->groups_of(split_of(metric).split) > 0;
  return any ? number.evaluation->groups_from : "";
}

// None if a column has several seeds, or the number of images is unknown.
std::optional<ImageDifference> image_difference(const std::string& metric, const ColumnNumber& a, const ColumnNumber& b) {
  if (a.column->has_seeds() || b.column->has_seeds()) return std::nullopt;
  const KeyNumber &first = *a.number, &second = *b.number;
  const double mean = first.value - second.value;
  if (const auto counts = counts_of(metric, first, second)) {
    const PairedCounts effective = counts->divided(design_effect_of(metric, first, second));
    return ImageDifference{mean, difference_interval(effective),         equal_shares_p(effective),
                           true, static_cast<int64_t>(counts->images()), groups_of(first, metric)};
  }
  const Proportion one = evaluated_share(a.column->shown(), first, metric), other = evaluated_share(b.column->shown(), second, metric);
  if (one.count == 0 || other.count == 0) return std::nullopt;
  const int64_t images = std::min(image_count(a.column->shown(), first, metric), image_count(b.column->shown(), second, metric));
  return ImageDifference{mean, difference_interval(one, other), equal_shares_p(one, other), false, images, groups_of(first, metric)};
}

// Columns are compared by the first of these that all of them have, else by the one that most of them have.
struct Measure {
  std::string_view metric, of_what;
};
constexpr std::array kMeasures = {Measure{"conflicting_acc", "Conflicting images"},
                                  Measure{"linear_acc1", "Linear probe"},
                                  Measure{"linear_features_acc1", "Linear probe"},
                                  Measure{"acc1", "Accuracy"},
                                  Measure{"knn_acc1", "kNN"},
                                  Measure{"mean_classifier_acc1", "Mean classifier"}};

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
      for (const std::string& source : sources_in_order()) {
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

std::string signed_points(double value) { return fmt::format("{:+.1f}", 100 * value); }

std::string interval_words(const ColumnDifference& difference) {
  return fmt::format("{} points, 95 % interval {} to {} over {}{} seeds", signed_points(difference.interval.mean),
                     signed_points(difference.interval.low()), signed_points(difference.interval.high()),
                     difference.paired ? "the same " : "at least ", difference.interval.n);
}

std::string interval_words(const ImageDifference& difference) {
  const std::string groups = difference.groups.empty() ? "" : fmt::format(", by their groups ({})", difference.groups);
  return fmt::format("{} points, 95 % interval {} to {} over {} {}{}", signed_points(difference.mean),
                     signed_points(difference.interval.first), signed_points(difference.interval.second), difference.images,
                     difference.paired ? "images, the same of both" : "images each, taken as different ones", groups);
}

// Two columns by one number: over seeds where both have several, over the evaluated images where both have one.
struct TestedPair {
  size_t a = 0, b = 0;
  ColumnNumber of_a, of_b;
  ColumnDifference seeds;
  std::optional<ImageDifference> images;
  double p = NAN, p_holm = NAN;
  size_t tests = 0;  // that p is adjusted for

  Rounding rounding() const {
    if (images) return {images->interval.first, images->interval.second};
    return seeds.has_width() ? Rounding{seeds.interval.low(), seeds.interval.high()} : Rounding{};
  }
};

TestedPair tested_numbers(const std::string& metric, const ColumnNumber& a, const ColumnNumber& b) {
  TestedPair pair;
  pair.of_a = a;
  pair.of_b = b;
  pair.seeds = column_difference(*a.column, a.number->by_seed, *b.column, b.number->by_seed);
  pair.images = image_difference(metric, a, b);
  pair.p = pair.p_holm = pair.images ? pair.images->p : pair.seeds.interval.p;
  pair.tests = 1;
  return pair;
}

TestedPair tested_pair(const NumberRow& row, const std::vector<RunColumn>& columns, size_t a, size_t b) {
  TestedPair pair = tested_numbers(row.metric, {&columns[a], &*row.by_column[a]}, {&columns[b], &*row.by_column[b]});
  pair.a = a;
  pair.b = b;
  return pair;
}

// `best` against each of the others, adjusted for all comparisons of the group.
std::vector<TestedPair> tested_pairs(const NumberRow& row, const std::vector<RunColumn>& columns, const std::vector<size_t>& group,
                                     size_t best) {
  std::vector<TestedPair> pairs;
  std::vector<double> p;
  for (size_t i = 0; i < group.size(); ++i) {
    for (size_t j = i + 1; j < group.size(); ++j) {
      pairs.push_back(group[j] == best ? tested_pair(row, columns, best, group[i]) : tested_pair(row, columns, group[i], group[j]));
      p.push_back(pairs.back().p);
    }
  }
  const std::vector<double> adjusted = holm_adjusted(p);
  const auto tests = static_cast<size_t>(std::ranges::count_if(p, [](double value) { return !std::isnan(value); }));
  for (size_t i = 0; i < pairs.size(); ++i) {
    pairs[i].p_holm = adjusted[i];
    pairs[i].tests = tests;
  }
  std::erase_if(pairs, [&](const TestedPair& pair) { return pair.a != best; });
  return pairs;
}

// A run may gain on conflicting images what it loses on aligned ones: the verdict gives both.
std::optional<TestedPair> aligned_pair(const std::vector<NumberRow>& rows, const NumberRow& row, const std::vector<RunColumn>& columns,
                                       size_t a, size_t b) {
  const SplitName name = split_of(row.metric);
  if (name.name != "conflicting_acc") return std::nullopt;
  const NumberRow* aligned = find_row(rows, row.data, name.split + ".aligned_acc", row.source);
  if (aligned == nullptr || !has(*aligned, a) || !has(*aligned, b)) return std::nullopt;
  return tested_pair(*aligned, columns, a, b);
}

std::string aligned_words(const TestedPair& pair) {
  if (pair.images) return fmt::format(" On bias-aligned images: {}.", interval_words(*pair.images));
  return pair.seeds.has_width() ? fmt::format(" On bias-aligned images: {}.", interval_words(pair.seeds))
                                : fmt::format(" On bias-aligned images: {} points.", signed_points(pair.seeds.interval.mean));
}

// "Conflicting images 34 -> 77 % (+43, 39 to 48), aligned ones -9.", the second column first.
std::string number_words(const NumberRow& row, const TestedPair& pair, const std::optional<TestedPair>& aligned) {
  const SplitName name = split_of(row.metric);
  const std::string_view what = std::ranges::find(kMeasures, name.name, &Measure::metric)->of_what;
  const Rounding rounding = pair.rounding();
  const std::string interval = rounding.interval();
  const auto share = [&](const KeyNumber& number) { return (interval.empty() ? rounding_of(number) : rounding).share(number.value); };
  std::string words =
      fmt::format("{} {} → {} % ({}{})", what, share(*pair.of_b.number), share(*pair.of_a.number),
                  rounding.change(pair.of_a.number->value - pair.of_b.number->value), interval.empty() ? "" : ", " + interval);
  if (aligned) words += ", aligned ones " + aligned->rounding().change(aligned->of_a.number->value - aligned->of_b.number->value);
  return words + ".";
}

std::string unfinished_words(const std::vector<RunColumn>& columns, size_t a, size_t b) {
  std::string words;
  for (const size_t i : {a, b}) {
    const RunRecord& run = columns[i].shown();
    if (!run.finished()) words += fmt::format(" {} has trained {}.", columns[i].label, progress_text(run));
  }
  return words;
}

// The best of several was chosen by the numbers that it is tested on.
std::string adjusted_words(const TestedPair& pair) {
  if (pair.tests < 2) return "";
  return fmt::format(" Adjusted for {} comparisons, of which the best was chosen (Holm): p = {:.2g}, alone {:.2g}.", pair.tests,
                     pair.p_holm, pair.p);
}

constexpr double kComparisonLevel = 0.05;

// The exact or adjusted test may be less sure of a difference than its interval.
std::string not_shown(const std::string& first, const std::string& second, const Difference& difference, double p) {
  return difference.low > 0 ? fmt::format("{} against {} is undecided (p = {:.2g})", first, second, p)
                            : fmt::format("no difference between {} and {} is shown", first, second);
}

// Compares two single runs, over the images that both were evaluated on.
void compare_on_images(const TestedPair& pair, const std::string& first, const std::string& second, ComparisonVerdict& verdict) {
  const ImageDifference& images = *pair.images;
  const bool is_better = pair.p_holm < kComparisonLevel && images.interval.first > 0;
  verdict.difference = {images.mean, images.interval.first, images.interval.second,
                        !images.groups.empty() ? (images.paired ? Coverage::kPairedGroups : Coverage::kGroups)
                        : images.paired        ? Coverage::kPairedImages
                                               : Coverage::kImages};
  verdict.comparison = is_better ? Comparison::kBetterOnImages : Comparison::kAlike;
  verdict.head = is_better ? fmt::format("of these two runs {} is better than {}", first, second)
                           : not_shown(first, second, verdict.difference, pair.p_holm);
  verdict.details = fmt::format("Precisely {}, beyond which other seeds may differ.", interval_words(images));
}

void compare_over_seeds(const TestedPair& pair, const std::string& first, const std::string& second, ComparisonVerdict& verdict) {
  const SeedInterval& interval = pair.seeds.interval;
  verdict.difference = {interval.mean, interval.low(), interval.high(), Coverage::kSeeds};
  const bool is_better = pair.p_holm < kComparisonLevel && interval.mean > 0;
  verdict.comparison = is_better ? Comparison::kBetter : Comparison::kAlike;
  verdict.head = is_better ? fmt::format("{} is better than {}, beyond the variation over seeds", first, second)
                           : not_shown(first, second, verdict.difference, pair.p_holm);
  verdict.details =
      fmt::format("Precisely {}{}.", interval_words(pair.seeds), pair.p < kComparisonLevel ? "" : ", within the variation over seeds");
}

// Where seeds have no spread, or a side has one seed and nothing says of how many images.
void compare_untested(const TestedPair& pair, const std::vector<RunColumn>& columns, ComparisonVerdict& verdict) {
  const RunColumn &first = columns[pair.a], &second = columns[pair.b];
  verdict.comparison = Comparison::kTooFewSeeds;
  verdict.head = fmt::format("{} against {}: no test is possible", first.label, second.label);
  verdict.difference.mean = pair.seeds.interval.mean;
  verdict.details = std::isnan(pair.seeds.interval.half_width)
                        ? fmt::format("With a single seed{}, seeds alone can make such a difference; train three or more of each.",
                                      first.has_seeds() == second.has_seeds() ? " each" : " on one side")
                        : "It is the same in every seed. Seeds that do not differ say nothing about others; evaluate more images, or train "
                          "more seeds.";
}

// Further seeds where they would decide.
NextStep step_after_comparison(const std::vector<RunColumn>& columns, const TestedPair& pair, Comparison comparison) {
  if (comparison == Comparison::kBetter || comparison == Comparison::kNotComparable) return {};
  const RunColumn &first = columns[pair.a], &second = columns[pair.b];
  if (first.has_seeds() != second.has_seeds()) return train_more_seeds(first.has_seeds() ? second : first);
  return both_steps(train_more_seeds(first), train_more_seeds(second));
}

ComparisonVerdict compared(const std::vector<NumberRow>& rows, const NumberRow& row, const std::vector<RunColumn>& columns,
                           const TestedPair& pair) {
  ComparisonVerdict verdict;
  const std::string &first = columns[pair.a].label, &second = columns[pair.b].label;
  if (pair.images) {
    compare_on_images(pair, first, second, verdict);
  } else if (pair.seeds.has_width()) {
    compare_over_seeds(pair, first, second, verdict);
  } else {
    compare_untested(pair, columns, verdict);
  }
  const auto aligned = aligned_pair(rows, row, columns, pair.a, pair.b);
  verdict.words = number_words(row, pair, aligned);
  verdict.details += adjusted_words(pair) + (aligned ? aligned_words(*aligned) : "") + unfinished_words(columns, pair.a, pair.b);
  verdict.p = pair.p;
  verdict.p_holm = pair.p_holm;
  verdict.tests = pair.tests;
  verdict.next = step_after_comparison(columns, pair, verdict.comparison);
  verdict.best = pair.a;
  verdict.other = pair.b;
  verdict.measure = split_of(row.metric).name;
  if (aligned) verdict.aligned = aligned->of_a.number->value - aligned->of_b.number->value;
  return verdict;
}

// Corrected features against the same features as they were, which the folder has evaluated as the data "before".
std::optional<ComparisonVerdict> correction_verdict(const std::vector<RunColumn>& columns, const std::vector<NumberRow>& rows,
                                                    size_t place) {
  const RunColumn& column = columns[place];
  if (!column.shown().is_fixed()) return std::nullopt;
  const auto after = gap_of(rows, place), before = gap_of(rows, place, kBefore);
  if (!after || !before || after->split != before->split || after->source != before->source) return std::nullopt;
  const auto pair_of = [&](const char* metric, const KeyNumber* a, const KeyNumber* b) {
    TestedPair pair = tested_numbers(fmt::format("{}.{}", after->split, metric), {&column, a}, {&column, b});
    pair.a = pair.b = place;
    return pair;
  };
  const TestedPair pair = pair_of("conflicting_acc", after->conflicting, before->conflicting);
  const TestedPair aligned = pair_of("aligned_acc", after->aligned, before->aligned);
  if (!pair.images) return std::nullopt;
  ComparisonVerdict verdict;
  compare_on_images(pair, column.label, "the features before", verdict);
  const bool is_worse = pair.p < kComparisonLevel && pair.images->interval.second < 0;
  if (verdict.is_better() || is_worse)
    verdict.head = fmt::format("{} is {} than the features before", column.label, is_worse ? "worse" : "better");
  if (after->conflicting->value == before->conflicting->value && after->aligned->value == before->aligned->value)
    verdict.head = fmt::format("{} changes neither accuracy on these rows", column.label);
  NumberRow row;
  row.metric = after->split + ".conflicting_acc";
  verdict.words = number_words(row, pair, aligned);
  verdict.details = fmt::format("Precisely {}.{}", interval_words(*pair.images), aligned_words(aligned));
  verdict.p = verdict.p_holm = pair.p;
  verdict.tests = 1;
  verdict.best = verdict.other = place;
  verdict.measure = "conflicting_acc";
  verdict.aligned = after->aligned->value - before->aligned->value;
  return verdict;
}

std::string label_list(const std::vector<RunColumn>& columns, const std::vector<size_t>& chosen) {
  std::string words;
  for (size_t i = 0; i < chosen.size(); ++i) {
    words += fmt::format("{}{}", i == 0 ? "" : i + 1 == chosen.size() ? " and " : ", ", columns[chosen[i]].label);
  }
  return words;
}

// The columns of a group that were evaluated on the same data, set by set.
std::vector<std::vector<size_t>> sets_of(const Comparable& group, const std::vector<RunColumn>& columns) {
  std::vector<std::vector<size_t>> sets;
  const std::string split = split_of(group.row->metric).split;
  for (const size_t i : group.columns) {
    auto set = std::ranges::find_if(sets, [&](const std::vector<size_t>& members) {
      std::vector<RunColumn> all = {columns[i]};
      for (const size_t member : members) all.push_back(columns[member]);
      return evaluated_alike(all, "", split);
    });
    if (set == sets.end()) set = sets.insert(sets.end(), std::vector<size_t>());
    set->push_back(i);
  }
  return sets;
}

// The best of the group against each of the others.
void add_group(const std::vector<NumberRow>& rows, const Comparable& group, const std::vector<RunColumn>& columns,
               std::vector<ComparisonVerdict>& verdicts) {
  const size_t best = *std::ranges::max_element(group.columns, {}, [&](size_t i) { return group.row->by_column[i]->value; });
  for (const auto& pair : tested_pairs(*group.row, columns, group.columns, best)) {
    verdicts.push_back(compared(rows, *group.row, columns, pair));
  }
}

}  // namespace

std::vector<ComparisonVerdict> comparison_verdicts(const std::vector<RunColumn>& columns, const std::vector<NumberRow>& rows) {
  std::vector<ComparisonVerdict> verdicts;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (auto corrected = correction_verdict(columns, rows, i)) verdicts.push_back(std::move(*corrected));
  }
  if (columns.size() < 2) return verdicts;
  std::vector<size_t> rest(columns.size());
  std::iota(rest.begin(), rest.end(), size_t{0});
  while (!rest.empty()) {
    const Comparable group = largest_group(rows, rest);
    if (group.columns.size() < 2) break;
    std::vector<size_t> alone;  // on data of their own
    for (const std::vector<size_t>& set : sets_of(group, columns)) {
      if (set.size() > 1) add_group(rows, largest_group(rows, set), columns, verdicts);
      if (set.size() == 1) alone.push_back(set[0]);
    }
    if (!alone.empty()) {
      const std::string who = alone.size() == columns.size() ? "the runs" : label_list(columns, alone);
      verdicts.push_back(
          {Comparison::kNotComparable,
           fmt::format("{} cannot be compared{}", who, alone.size() == group.columns.size() ? "" : " with the others"),
           fmt::format("Their files do not say that they were evaluated on the same {} data.", split_of(group.row->metric).split)});
    }
    std::erase_if(rest, [&](size_t i) { return std::ranges::find(group.columns, i) != group.columns.end(); });
  }
  if (rest.size() == columns.size()) {
    verdicts.push_back({Comparison::kNotComparable, "the runs cannot be compared", "No accuracy was evaluated for all of them."});
  } else if (!rest.empty()) {
    verdicts.push_back({Comparison::kNotComparable, fmt::format("{} cannot be compared with the others", label_list(columns, rest)),
                        "They share no evaluated accuracy with another run."});
  }
  return verdicts;
}

}  // namespace debias
