// Tests whether a candidate predicts the class better than a legitimate sign. This separates shortcuts from signs such as blue sky behind
// aeroplanes.
//
// All values are balanced accuracies. A candidate A is compared with a reference r by (A - r) / (1 - r), the share of the reference's
// errors that it explains, and by A - r; each kind has thresholds. Kinds with many candidates (cells), and kinds compared with chance,
// first subtract from A the gain of the best of all candidates by chance. The thresholds were set on CIFAR-10: on clean pairs and fours of
// classes, and on planted shortcuts (docs/results/audit.md).
//
// A mark anywhere divides images into two kinds, so that most values by patches are certain; the content of a class does not. Patches of
// which fewer are certain have a higher threshold.
//
// A shortcut that another one shows more directly is only predictive, with a note: a frame also shows in its cells.
#pragma once

#include <vector>

#include "debias/audit/audit.h"

namespace debias {

// The accuracies of the references.
struct ExcessInput {
  double chance = 0.5;
  double layout = 0.5;         // of mean colours by place
  double middle = 0.5;         // of the middle of the image
  double weakest_side = 0.5;   // the minimum over the border's sides, because a frame predicts the class on each
  double patch_certainty = 0;  // share of images whose value by patches is certain (permutation_test.h)
  double embeddings = 0.5;     // of the principal components together
  double noise = 0;            // 95th percentile of the best candidate's excess over chance, without any association
};

// Sets reference and verdict of every finding. All findings of one grid must be present.
void evaluate_excess(const ExcessInput& input, std::vector<AuditFinding>& findings);

// The share of the reference's errors that the accuracy explains.
double explained(double accuracy, double reference);

}  // namespace debias
