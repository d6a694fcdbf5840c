// Corrects a frozen backbone by an affine layer on its features and a linear head, fitted in seconds to a feature table.
//
// Only training rows are used to fit. Cross-validation in five folds, stratified by group of class and bias label (at most kMostFoldRows
// rows, including all of the rare groups), chooses the strength of each head's penalty by worst-group accuracy, and the correction of
// `auto`. Rows of one unit (row_units.h) are in one fold, and tests count units. `auto` tries balanced, erase_balanced and erase in this
// order. It takes a correction if its mean accuracy over groups in the folds is at least `keep` of the plain head's, and if it is right more
// often than the plain head on bias-conflicting rows. More often means by a paired, one-sided test at 95 %, or at all where the plain head is
// significantly worse on bias-conflicting rows than on the other rows of their classes (GroupScorer::shortfall_p). A later correction
// replaces an earlier one only if it beats it by the paired test. Without a correction, and where class and bias label are independent,
// `auto` takes the plain head. Where the split valid has at least kLeastValid bias-conflicting rows, they decide in place of the folds, and
// a note says where the two differ.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "debias/core/options.h"
#include "debias/core/progress.h"
#include "debias/features/bias_groups.h"
#include "debias/features/feature_table.h"
#include "debias/fix/cross_validation.h"
#include "debias/fix/row_units.h"
#include "debias/fix/vector_range.h"

namespace debias {

constexpr int64_t kLeastValid = 20;      // bias-conflicting rows
constexpr int64_t kLeastClassRows = 20;  // minimum number of training rows per class

struct FixOptions {
  FixMethod method = FixMethod::kAuto;
  double keep = 0.98;  // [0, 1]
  int64_t seed = 1;
  void describe(OptionVisitor& o) {
    o("method", method, "the correction; auto: chosen by cross-validation, or none");
    o("keep", keep, Range::closed(0, 1), "minimum mean accuracy over groups for method auto, as a share of the plain head's");
    o("seed", seed, Range::closed(0, 9e15), "seed of the folds");
  }
};

// For features as stored in the table. The heads take the layer's output, and give the same logits for the uncorrected features.
struct FixedModel {
  std::vector<std::string> classes;
  AffineErasure layer;
  LinearHead head;
  std::optional<VectorRange> range = {};  // of the training rows, where a folder has it
};

// Results of cross-validation, by rows of the table. Without valid and test rows they are the only results on held-out rows.
struct FoldPredictions {
  std::vector<int64_t> places, before, after;
};

struct FixResult {
  FixMethod method = FixMethod::kErm;  // the chosen method
  bool changed = false;                // the method is not erm
  HeadChoice before_choice, choice;
  FixedModel before, after;
  JointBias bias;     // of the columns that are associated with the class (grouping_columns); the erasure is of all of them
  BiasGroups groups;  // counted over training rows
  RowGroups units;    // what the rows of the table are of (row_units.h)
  FoldPredictions folds;
  std::vector<std::string> log;    // one line each: what was tried, what was chosen and why
  std::vector<std::string> notes;  // notes to the user, one line each
};

// Usage error without a bias column, or if a categorical one has more than one value per four training rows. Data error for fewer than two
// classes, a class with fewer than kLeastClassRows training rows, or a bias column with one value or none in the training rows.
// `groups_asked`: the group columns were named, and are not merely titled `group`.
FixResult fix(const FeatureTable& table, const FixOptions& options, Progress& progress, bool groups_asked = false);

}  // namespace debias
