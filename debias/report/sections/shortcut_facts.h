// Facts on a run's shortcut from its files: which bias label is aligned with which class, the worst group, and signs of a shortcut if no
// bias label is known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "debias/report/run_column.h"

namespace debias {

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

}  // namespace debias
