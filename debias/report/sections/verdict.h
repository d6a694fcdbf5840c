// Verdict of a report, in words: is the shortcut still used, and which run is better, by more than its seeds differ.
//
// A shortcut is used if bias-aligned images (whose bias label belongs to their class) are classified correctly more often than the others
// (conflicting). G is the difference of the two accuracies. Its 95 % interval is, of one run, over the evaluated images (Newcombe's, from
// the group tables); of several seeds, over the seeds (t), and the one over the images has to agree.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "debias/report/sections/next_step.h"
#include "debias/report/sections/shortcut_facts.h"
#include "debias/report/tables/key_numbers.h"

namespace debias {

enum class Finding {
  kUsed,           // G is above 0, and by more than 5 points at its most
  kUsedLittle,     // G is above 0, and at most 5 points
  kOverCorrected,  // G is below 0: conflicting images are recognised more often than aligned ones
  kNotUsed,        // G may be 0, and is at most 5 points; and conflicting images are classified better than chance
  kCannotTell,     // G may be 0 and may be more than 5 points; or no interval is known; or nothing was learned
  kNoBias,         // it is unknown which images are aligned
  kNoTest          // nothing was evaluated
};

enum class Coverage { kNone, kImages, kPairedImages, kSeeds };  // what an interval is over

// A difference of accuracies with its 95 % interval.
struct Difference {
  double mean = std::numeric_limits<double>::quiet_NaN();
  double low = std::numeric_limits<double>::quiet_NaN(), high = std::numeric_limits<double>::quiet_NaN();
  Coverage over = Coverage::kNone;
};

struct ShortcutVerdict {
  Finding finding = Finding::kNoTest;
  std::string head;            // "the shortcut is still used very strongly"
  std::string words;           // one or more whole sentences: the numbers
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

struct ComparisonVerdict {
  Comparison comparison = Comparison::kNotComparable;
  std::string head, words;
  Difference difference = {};
  double p = std::numeric_limits<double>::quiet_NaN(), p_holm = std::numeric_limits<double>::quiet_NaN();
  size_t tests = 0;  // that p is adjusted for
  NextStep next = {};
};
// Compares the column with the highest accuracy (of conflicting images if all have it) with each other one; empty for a single column.
// If no accuracy is known for all, the largest group that has one in common is compared so, then those that are left.
//
// The best of k is chosen by the numbers that it is tested on. So each p-value is adjusted (Holm) for all k (k - 1) / 2 comparisons of the
// group, and "better" requires an adjusted one below 5 %.
std::vector<ComparisonVerdict> comparison_verdicts(const std::vector<RunColumn>& columns, const std::vector<NumberRow>& rows);

// "used", "used_little", "over_corrected", "not_used", "cannot_tell", "no_bias", "no_test"
const char* finding_name(Finding finding);
const char* comparison_name(Comparison comparison);  // "better", "better_on_images", "alike", "too_few_seeds", "not_comparable"
const char* coverage_name(Coverage coverage);        // "", "images", "images_paired", "seeds"

}  // namespace debias
