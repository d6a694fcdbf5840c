// Corrects a frozen backbone by an affine layer on its features and a linear head, fitted in seconds to a feature table.
//
// Only training rows are used to fit. Five folds of them, stratified by group of class and bias label (at most kMostFoldRows rows, all of
// the rare groups), choose the strength of each head's penalty, by the accuracy of the worst group, and the correction of `auto`. `auto`
// tries balanced, erase_balanced and erase in this order. It takes a correction if two conditions hold: on bias-conflicting rows of the
// folds it is right more often than the plain head by a paired, one-sided test at 95 %, and its mean accuracy over groups is at least
// `keep` of the plain head's. A later one replaces it only if it beats it by the same test. Otherwise nothing is changed.
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

// For features as stored in the table. The heads read the layer's output, and give the same logits for the features themselves.
struct FixedModel {
  std::vector<std::string> classes;
  AffineErasure layer;
  LinearHead head;
};

// Results of the folds, by rows of the table. Without valid and test rows they are the only results on rows that were not fitted to.
struct FoldPredictions {
  std::vector<int64_t> places, before, after;
};

struct FixResult {
  FixMethod method = FixMethod::kErm;  // that was taken
  bool changed = false;                // it is another than erm
  HeadChoice before_choice, choice;
  FixedModel before, after;
  JointBias bias;     // of the columns that are associated with the class (grouping_columns); the erasure is of all of them
  BiasGroups groups;  // counted over training rows
  FoldPredictions folds;
  std::vector<std::string> log;    // what was tried, what was chosen and why, a line each
  std::vector<std::string> notes;  // what a user should know, a line each
};

// Throws a usage error without a bias column, or if one that is not numeric has more than a value for every four training rows. Throws a data error for fewer than two classes, a class with fewer than kLeastClassRows
// training rows, or a bias column with one value in the training rows.
FixResult fix(const FeatureTable& table, const FixOptions& options, Progress& progress);

}  // namespace debias
