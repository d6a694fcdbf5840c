// Verdict of a report, in words: is the shortcut still used, and which run is better, by more than its seeds differ.
//
// A shortcut is used if bias-aligned images (whose bias label belongs to their class) are classified correctly more often than the others
// (conflicting). G is the difference of the two accuracies. Its 95 % interval is, of one run, over the evaluated images (Newcombe's, from
// the group tables) or, where something says which images belong together, over their groups (images divided by the design effect); of several seeds, over the seeds (t), and the one over the images has to agree.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "debias/core/enum_names.h"
#include "debias/report/run_column.h"
#include "debias/report/sections/report_sections.h"
#include "debias/report/tables/key_numbers.h"
#include "debias/results/statistics.h"

namespace debias {

// Next step after a report: one command that works on the runs as they are, and how long it takes.
struct NextStep {
  std::string command;                                        // empty: nothing follows
  std::string why;                                            // what it adds, a clause: "an interval over seeds"
  double minutes = std::numeric_limits<double>::quiet_NaN();  // estimated from the run's own training time; NaN: not known
};

// "Next, for an interval over seeds: debias train ... (about 12 minutes)"; empty without a command.
std::string step_words(const NextStep& step);
// The part of it before and after the command.
std::string step_head(const NextStep& step);
std::string step_time(const NextStep& step);  // " (about 12 minutes)"; "" where it is not known

// Three seeds of the run's recipe, in a new folder beside it; beside the group of seeds or the sweep that it lies in, if there is one.
NextStep train_more_seeds(const RunColumn& column);

// Protocols on the run's own images. The time is that of one epoch, which is more than one pass over them takes.
NextStep evaluate_protocols(const RunRecord& run, const std::string& protocols, const std::string& why);

// Groups by bias labels from a file, where the data have none.
NextStep give_bias_values(const RunRecord& run);

// Both after another; empty where either is.
NextStep both_steps(const NextStep& first, const NextStep& second);

// Numbers of a verdict, in percent or points with as many decimals as their interval supports: none where it is a point wide or more, one
// where it is a tenth.
struct Rounding {
  double low = std::numeric_limits<double>::quiet_NaN(), high = std::numeric_limits<double>::quiet_NaN();  // the interval

  std::string share(double value) const;   // "34" of 0.3412
  std::string change(double value) const;  // "+34", "-9"
  std::string interval() const;            // "39 to 48"; "" where there is none
};
Rounding rounding_of(const KeyNumber& number);

// The two accuracies of a run, by one source's predictions.
struct Gap {
  std::string split, source;
  const KeyNumber *aligned = nullptr, *conflicting = nullptr;

  double mean() const { return aligned->value - conflicting->value; }
  std::vector<double> by_seed() const;
};

// Test before valid, a classifier's predictions before a probe's and kNN's. `data` as of NumberRow.
std::optional<Gap> gap_of(const std::vector<NumberRow>& rows, size_t column, const std::string& data = "");

// An accuracy with the number of images behind it, divided by the design effect of their groups; 0: unknown.
Proportion evaluated_share(const RunRecord& run, const KeyNumber& number, const std::string& metric);

// Accuracy of always naming the most frequent class of the conflicting images; NaN if unknown.
double chance_level(const RunRecord& run, const std::string& split);

// Facts on a run's shortcut from its files: which bias label is aligned with which class, the worst group, and signs of a shortcut if no
// bias label is known.

// " The shortcut: bias label red belongs to class cat, blue with dog."; "" if the alignment is unknown.
std::string shortcut_words(const EvaluationRecord& groups);

struct WorstGroup {
  std::string label, bias;
  double accuracy = 0;  // the mean over the seeds
  int64_t images = 0;   // evaluated, of one seed
};
// The group of class and bias label with the lowest accuracy, of those with an image; none without a group table.
std::optional<WorstGroup> worst_group(const RunColumn& column, const std::string& split);
std::string worst_group_words(const WorstGroup& group);

// Training images classified far better than test images (0.3 and more): the training images share something that the test images lack.
// Held-out training images, if there are some, distinguish a shortcut from overfitting.
struct GeneralisationGap {
  double train = 0, test = 0;
  std::optional<double> held_out;  // `valid`, accuracy

  bool is_overfitting() const { return held_out && train - *held_out > *held_out - test; }
};
std::optional<GeneralisationGap> generalisation_gap(const RunColumn& column);
std::string gap_sign_words(const GeneralisationGap& gap);

enum class Finding {
  kUsed,           // G is above 0, and by more than 5 points at its most
  kUsedLittle,     // G is above 0, and at most 5 points
  kOverCorrected,  // G is below 0: conflicting images are recognised more often than aligned ones
  kNotUsed,        // G may be 0, and is at most 5 points; and conflicting images are classified better than chance
  kCannotTell,     // G may be 0 and may be more than 5 points; or no interval is known; or nothing was learned
  kNoBias,         // it is unknown which images are aligned
  kNoTest          // nothing was evaluated
};
constexpr auto enum_words(Finding) {
  return named("used", "used_little", "over_corrected", "not_used", "cannot_tell", "no_bias", "no_test");
}

enum class Coverage { kNone, kImages, kPairedImages, kGroups, kPairedGroups, kSeeds };  // what an interval is over
constexpr auto enum_words(Coverage) { return named("", "images", "images_paired", "groups", "groups_paired", "seeds"); }

// A difference of accuracies with its 95 % interval.
struct Difference {
  double mean = std::numeric_limits<double>::quiet_NaN();
  double low = std::numeric_limits<double>::quiet_NaN(), high = std::numeric_limits<double>::quiet_NaN();
  Coverage over = Coverage::kNone;
};

struct ShortcutVerdict {
  Finding finding = Finding::kNoTest;
  std::string head;            // "the shortcut is still used very strongly"
  std::string words;           // one sentence: the numbers
  std::string details = {};    // whole sentences: what the interval covers, the shortcut, the worst group, the probe
  NextStep next;               // what would say more
  Difference difference = {};  // G
  std::optional<WorstGroup> worst = {};
  std::optional<GeneralisationGap> sign = {};  // of a shortcut, where no bias label is known
};
ShortcutVerdict shortcut_verdict(const std::vector<RunColumn>& columns, size_t column, const std::vector<NumberRow>& rows);

enum class Comparison {
  kBetter,          // beyond the variation over seeds
  kBetterOnImages,  // of two single runs, beyond the variation over images; other seeds may fall otherwise
  kAlike,           // within the spread, of seeds or of images
  kTooFewSeeds,     // a side has one seed, and the number of images is unknown: inconclusive
  kNotComparable    // other data, or no number in common
};
constexpr auto enum_words(Comparison) { return named("better", "better_on_images", "alike", "too_few_seeds", "not_comparable"); }

struct ComparisonVerdict {
  Comparison comparison = Comparison::kNotComparable;
  std::string head, words;   // one sentence
  std::string details = {};  // whole sentences: other tests, the adjustment
  Difference difference = {};
  double p = std::numeric_limits<double>::quiet_NaN(), p_holm = std::numeric_limits<double>::quiet_NaN();
  size_t tests = 0;  // that p is adjusted for
  NextStep next = {};
  std::optional<size_t> best = {}, other = {};  // columns; `other` is `best` itself where it was compared with its features as they were
  std::string measure = {};                     // "conflicting_acc"
  std::optional<double> aligned = {};           // the difference of the accuracies on aligned images

  bool is_better() const { return comparison == Comparison::kBetter || comparison == Comparison::kBetterOnImages; }
};
// Compares the column with the highest accuracy (of conflicting images if all have it) with each other one; empty for a single column.
// If no accuracy is known for all, the largest group that has one in common is compared so, then those that are left.
//
// The best of k is chosen by the numbers that it is tested on. So each p-value is adjusted (Holm) for all k (k - 1) / 2 comparisons of the
// group, and "better" requires an adjusted one below 5 %. Features that debias fix corrected are compared with those before, too.
std::vector<ComparisonVerdict> comparison_verdicts(const std::vector<RunColumn>& columns, const std::vector<NumberRow>& rows);

// Note on all verdicts of a report together.

// Whole sentences on the number of comparisons and on seeds that share one draw of the data; "" where there is nothing to say.
std::string verdict_note(const ReportData& data, const std::vector<ComparisonVerdict>& comparisons);

// What holds for every number of the verdicts: "Predictions of the classifier on test images. Intervals: 95 % over 3 seeds ...".
std::string interval_note(const ReportData& data, const std::vector<ComparisonVerdict>& comparisons);

}  // namespace debias
