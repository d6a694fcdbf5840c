// A frozen backbone corrected: an affine layer on its features and a linear head, fitted in seconds to a feature table.
//
// Training rows alone are fitted to. The strength of each head's penalty, and what `auto` does, come from five folds of them, stratified by
// group of class and bias label (at most kMostFoldRows rows, all of the rare groups): the penalty with the best accuracy of the worst
// group. `auto` takes a correction only if, on bias-conflicting rows of the folds, it is right more often than the plain head by a paired,
// one-sided test at 95 %, and if its mean accuracy over groups is at least `keep` of the plain head's; a further one replaces it only if it
// beats it by the same test, in the order balanced, erase_balanced, erase. Otherwise nothing is changed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "debias/core/progress.h"
#include "debias/features/bias_groups.h"
#include "debias/features/feature_table.h"
#include "debias/fix/cross_validation.h"
#include "debias/fix/fix_method.h"

namespace debias {

constexpr int64_t kLeastClassRows = 20;  // training rows of each class

class FixOptions {
 public:
  DEBIAS_OPTION(FixOptions, FixMethod, method, FixMethod::kAuto)
  DEBIAS_OPTION(FixOptions, double, keep, 0.98)  // [0, 1]
  DEBIAS_OPTION(FixOptions, int64_t, seed, 1)
  static const OptionTable<FixOptions>& table();
};

// For features as the table has them. The heads read the layer's output; they give the same logits for the features themselves.
struct FixedModel {
  std::vector<std::string> classes;
  AffineErasure layer;
  LinearHead head;
};

// What the folds gave, by rows of the table: where it has neither valid nor test rows, all that is known of rows that were not fitted to.
struct FoldPredictions {
  std::vector<int64_t> places, before, after;
};

struct FixResult {
  FixMethod method = FixMethod::kErm;  // that was taken
  bool changed = false;                // it is another than erm
  HeadChoice before_choice, choice;
  FixedModel before, after;
  JointBias bias;
  BiasGroups groups;  // counted over training rows
  FoldPredictions folds;
  std::vector<std::string> log;    // what was tried, what was chosen and why, a line each
  std::vector<std::string> notes;  // what a user should know, a line each
};

// Errors. Usage: no bias column. Data: fewer than two classes; a class with fewer than kLeastClassRows training rows; a bias
// column with one value in the training rows.
FixResult fix(const FeatureTable& table, const FixOptions& options, Progress& progress);

}  // namespace debias
