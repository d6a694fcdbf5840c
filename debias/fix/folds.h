// Rows of a cross-validation: stratified by group, in folds one after the other.
#pragma once

#include <cstdint>
#include <vector>

namespace debias {

constexpr int64_t kFolds = 5;
constexpr int64_t kMostFoldRows = 20000;

struct FoldRows {
  std::vector<int64_t> places;     // indices of input rows, fold by fold
  std::vector<double> importance;  // one per entry: rows of its stratum / rows taken of it
  std::vector<int64_t> begins;     // [kFolds + 1]: where each fold begins in `places`

  int64_t size() const { return static_cast<int64_t>(places.size()); }
};

// strata[i] is the stratum of row i, any number. At most about `most` rows are drawn: all of small strata and an equal number of the larger
// ones, which keeps rare rows. A stratum of fewer rows than folds is missing from some. The draw depends only on the seed (Philox), on
// every machine.
FoldRows fold_rows(const std::vector<int64_t>& strata, uint64_t seed, int64_t most = kMostFoldRows);

// The same rows in folds of whole groups, stratified as far as those allow: groups from the most uneven one on, each into the fold that
// leaves the strata spread most evenly, the smaller one of equals (scikit-learn's StratifiedGroupKFold). Arguments are by input row.
FoldRows folds_of_groups(const FoldRows& rows, const std::vector<int64_t>& strata, const std::vector<int32_t>& groups, uint64_t seed);

}  // namespace debias
