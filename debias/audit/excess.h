// Whether a candidate knows more of the class than a legitimate sign would: what separates a shortcut from blue sky behind aeroplanes.
//
// All of it is balanced accuracies. A candidate A is measured against a reference r by (A - r) / (1 - r), the share of the reference's errors
// that it explains, and by A - r; each kind has thresholds. Of candidates that come in numbers (cells) and of those measured against chance,
// what the best of all gains by chance is taken off A first. The thresholds were set on CIFAR-10: on clean pairs and fours of classes, and on
// planted shortcuts (docs/results/audit.md).
//
// A shortcut that another one shows as well, and more directly, is only predictive, with a note: a frame is seen in its cells, too.
#pragma once

#include <vector>

#include "debias/audit/audit.h"

namespace debias {

// What references are made of.
struct ExcessInput {
  double chance = 0.5;
  double layout = 0.5;        // of mean colours by place
  double middle = 0.5;        // of the middle of the image
  double weakest_side = 0.5;  // of the border's four sides: a frame gives the class away on each
  double embeddings = 0.5;    // of the principal components together
  double noise = 0;           // the best of all candidates exceeds chance by this much in one of twenty audits without any association
};

// Sets reference and verdict of every finding. Those of one grid must be there together.
void judge_excess(const ExcessInput& input, std::vector<AuditFinding>& findings);

// The share of the reference's errors that the accuracy explains.
double explained(double accuracy, double reference);

}  // namespace debias
