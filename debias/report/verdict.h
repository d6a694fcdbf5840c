// What a report says first, in words: is the shortcut still used, and which run is better, by more than its seeds differ.
//
// A shortcut is used where images whose bias value goes with their class (aligned) are judged right more often than the others
// (conflicting). G is the difference of the two accuracies. Its 95 % interval is, of one run, over the images judged (Newcombe's, from the
// group tables); of several seeds, over the seeds (t), and the one over the images has to agree.
#pragma once

#include <string>
#include <vector>

#include "debias/report/key_numbers.h"

namespace debias {

enum class Finding {
  kUsed,        // G is above 0, and by more than 5 points at its most
  kUsedLittle,  // G is above 0, and at most 5 points
  kNotUsed,     // G may be 0 or less, and is at most 5 points; and conflicting images are judged better than chance
  kCannotTell,  // G may be 0 and may be more than 5 points; or no interval is known; or nothing was learned
  kNoBias,      // nothing says which images are aligned
  kNoTest       // nothing was judged
};

struct ShortcutVerdict {
  Finding finding = Finding::kNoTest;
  std::string head;     // "the shortcut is still used"
  std::string words;    // one or more whole sentences: the numbers
  std::string command;  // that would say more; empty where none
};
ShortcutVerdict shortcut_verdict(const std::vector<RunColumn>& columns, size_t column, const std::vector<NumberRow>& rows);

enum class Comparison {
  kBetter,        // by more than the seeds' spread
  kAlike,         // within it
  kTooFewSeeds,   // a side has one seed: it cannot be told
  kNotComparable  // other data, or no number in common
};

struct ComparisonVerdict {
  Comparison comparison = Comparison::kNotComparable;
  std::string head, words;
};
// Of the column with the highest accuracy (of conflicting images where all have it) against each other one; empty for a single column.
// Where no accuracy is known of all, the largest group that has one in common is compared so, then those that are left.
std::vector<ComparisonVerdict> comparison_verdicts(const std::vector<RunColumn>& columns, const std::vector<NumberRow>& rows);

const char* finding_name(Finding finding);           // "used", "used_little", "not_used", "cannot_tell", "no_bias", "no_test"
const char* comparison_name(Comparison comparison);  // "better", "alike", "too_few_seeds", "not_comparable"

}  // namespace debias
