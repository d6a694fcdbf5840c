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

// None if a column has several seeds, a number is unknown or its number of images is. The columns were evaluated on the same
// data (evaluated_alike).
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

std::string interval_words(const ImageDifference& difference) {
  return fmt::format("{} points, 95 % interval {} to {} over {} {}", signed_points(difference.mean),
                     signed_points(difference.interval.first), signed_points(difference.interval.second), difference.images,
                     difference.paired ? "images, the same of both" : "images each, taken as different ones");
}

ColumnDifference difference_in(const NumberRow& row, const std::vector<RunColumn>& columns, size_t a, size_t b) {
  return column_difference(columns[a], row.by_column[a]->by_seed, columns[b], row.by_column[b]->by_seed);
}

// Two columns by one number: over seeds where both have several, over the evaluated images where both have one.
struct TestedPair {
  size_t a = 0, b = 0;
  ColumnDifference seeds;
  std::optional<ImageDifference> images;
  double p = NAN, p_holm = NAN;
  size_t tests = 0;  // that p is adjusted for
};

TestedPair tested_pair(const NumberRow& row, const std::vector<RunColumn>& columns, size_t a, size_t b) {
  TestedPair pair{a, b, difference_in(row, columns, a, b), image_difference(row, columns, a, b)};
  pair.p = pair.images ? pair.images->p : pair.seeds.interval.p;
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
std::string aligned_words(const std::vector<NumberRow>& rows, const NumberRow& row, const std::vector<RunColumn>& columns, size_t a,
                          size_t b) {
  const SplitName name = split_of(row.metric);
  if (name.name != "conflicting_acc") return "";
  const NumberRow* aligned = find_row(rows, "", name.split + ".aligned_acc", row.source);
  if (aligned == nullptr || !has(*aligned, a) || !has(*aligned, b)) return "";
  const TestedPair pair = tested_pair(*aligned, columns, a, b);
  if (pair.images) return fmt::format(" On bias-aligned images: {}.", interval_words(*pair.images));
  return pair.seeds.has_width() ? fmt::format(" On bias-aligned images: {}.", interval_words(pair.seeds))
                                : fmt::format(" On bias-aligned images: {} points.", signed_points(pair.seeds.interval.mean));
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

// Compares two single runs, over the images that both were evaluated on.
void compare_on_images(const TestedPair& pair, const std::string& first, const std::string& second, const std::string& numbers,
                       ComparisonVerdict& verdict) {
  const ImageDifference& images = *pair.images;
  const bool is_better = pair.p_holm < kComparisonLevel && images.interval.first > 0;
  verdict.difference = {images.mean, images.interval.first, images.interval.second,
                        images.paired ? Coverage::kPairedImages : Coverage::kImages};
  verdict.comparison = is_better ? Comparison::kBetterOnImages : Comparison::kAlike;
  verdict.head = is_better ? fmt::format("of these two runs {} is better than {}, beyond the variation over images", first, second)
                           : fmt::format("{} against {}: inconclusive", first, second);
  verdict.words = fmt::format(
      "{}: {}, which covers other images and these two networks. With a single seed each it does not cover other "
      "seeds, which alone can make such a difference; train three or more of each.{}",
      numbers, interval_words(images), adjusted_words(pair));
}

void compare_over_seeds(const TestedPair& pair, const std::string& first, const std::string& second, const std::string& numbers,
                        ComparisonVerdict& verdict) {
  const SeedInterval& interval = pair.seeds.interval;
  verdict.difference = {interval.mean, interval.low(), interval.high(), Coverage::kSeeds};
  if (pair.p_holm < kComparisonLevel && interval.mean > 0) {
    verdict.comparison = Comparison::kBetter;
    verdict.head = fmt::format("{} is better than {}, beyond the variation over seeds", first, second);
    verdict.words = fmt::format("{}: {}.{}", numbers, interval_words(pair.seeds), adjusted_words(pair));
    return;
  }
  const bool alone = pair.p < kComparisonLevel;
  verdict.comparison = Comparison::kAlike;
  verdict.head = fmt::format("{} against {}: inconclusive", first, second);
  verdict.words = fmt::format("{}: {}{}.{}", numbers, interval_words(pair.seeds), alone ? "" : ", within the variation over seeds",
                              adjusted_words(pair));
}

// Where seeds have no spread, or a side has one seed and nothing says of how many images.
void compare_untested(const TestedPair& pair, const std::vector<RunColumn>& columns, const std::string& numbers,
                      ComparisonVerdict& verdict) {
  const RunColumn &first = columns[pair.a], &second = columns[pair.b];
  const SeedInterval& interval = pair.seeds.interval;
  verdict.comparison = Comparison::kTooFewSeeds;
  verdict.head = fmt::format("{} against {}: no test is possible", first.label, second.label);
  verdict.difference.mean = interval.mean;
  const std::string points = signed_points(interval.mean);
  verdict.words =
      std::isnan(interval.half_width)
          ? fmt::format("{}: {} points, with a single seed{}. Seeds alone can make such a difference; train three or more of each.",
                        numbers, points, first.has_seeds() == second.has_seeds() ? " each" : " on one side")
          : fmt::format(
                "{}: {} points in every seed. Seeds that do not differ say nothing about others; evaluate more images, or train more "
                "seeds.",
                numbers, points);
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
  const std::string numbers = fmt::format("{} against {} {}", percent_text(row.by_column[pair.a]->value),
                                          percent_text(row.by_column[pair.b]->value), words_of(row));
  ComparisonVerdict verdict;
  const std::string &first = columns[pair.a].label, &second = columns[pair.b].label;
  if (pair.images) {
    compare_on_images(pair, first, second, numbers, verdict);
  } else if (pair.seeds.has_width()) {
    compare_over_seeds(pair, first, second, numbers, verdict);
  } else {
    compare_untested(pair, columns, numbers, verdict);
  }
  verdict.words += aligned_words(rows, row, columns, pair.a, pair.b) + unfinished_words(columns, pair.a, pair.b);
  verdict.p = pair.p;
  verdict.p_holm = pair.p_holm;
  verdict.tests = pair.tests;
  verdict.next = step_after_comparison(columns, pair, verdict.comparison);
  return verdict;
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
  if (!evaluated_alike(members, "", split)) {
    verdicts.push_back({Comparison::kNotComparable, fmt::format("{} cannot be compared", who),
                        fmt::format("Their files do not say that they were evaluated on the same {} data.", split)});
    return;
  }
  const size_t best = *std::ranges::max_element(group.columns, {}, [&](size_t i) { return group.row->by_column[i]->value; });
  for (const auto& pair : tested_pairs(*group.row, columns, group.columns, best)) {
    verdicts.push_back(compared(rows, *group.row, columns, pair));
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
    verdicts.push_back({Comparison::kNotComparable, "the runs cannot be compared", "No accuracy was evaluated for all of them."});
  } else if (!rest.empty()) {
    verdicts.push_back({Comparison::kNotComparable, fmt::format("{} cannot be compared with the others", label_list(columns, rest)),
                        "They share no evaluated accuracy with another run."});
  }
  return verdicts;
}

const char* comparison_name(Comparison comparison) {
  switch (comparison) {
    case Comparison::kBetter:
      return "better";
    case Comparison::kBetterOnImages:
      return "better_on_images";
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
