// Cross-validation of heads: each row is scored by a head that was not fitted to it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "debias/core/enum_names.h"
#include "debias/fix/fit_rows.h"
#include "debias/fix/group_scores.h"
#include "debias/fix/weighted_heads.h"

namespace debias {

// The ways to correct a head on frozen features.
//
//   erm             a plain head without correction, the reference of all others
//   balanced        groups of class and bias label have equal weight (weighted_heads.h); also called dfr, although no row is
//                   discarded (Kirichenko et al. 2023, arXiv 2204.02937)
//   erase           class-conditional erasure of the bias (erasure.h), then a plain head
//   erase_balanced  the same, then a balanced head
//   fairkl          a projection by epsilon-SupInfoNCE and FairKL, then a balanced head (fairkl_head.h)
//   leace           concept-erasure's projection, then a plain head, for comparison (erasure.h): harmful if label and bias are correlated
//   auto            the one of erm, balanced, erase and erase_balanced that cross-validation selects (fix.h)

enum class FixMethod { kAuto, kErm, kBalanced, kErase, kEraseBalanced, kFairkl, kLeace };
template <>
struct EnumNames<FixMethod> {
  static constexpr std::array<std::pair<std::string_view, FixMethod>, 8> values = {{{"auto", FixMethod::kAuto},
                                                                                    {"erm", FixMethod::kErm},
                                                                                    {"balanced", FixMethod::kBalanced},
                                                                                    {"dfr", FixMethod::kBalanced},
                                                                                    {"erase", FixMethod::kErase},
                                                                                    {"erase_balanced", FixMethod::kEraseBalanced},
                                                                                    {"fairkl", FixMethod::kFairkl},
                                                                                    {"leace", FixMethod::kLeace}}};
};

// Rows of a cross-validation: stratified by group, in folds one after the other.

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

struct HeadChoice {
  FixMethod method = FixMethod::kErm;  // erm, balanced, erase or erase_balanced
  double C = 1;                        // inverse strength of the penalty (weighted_heads.h), for all training rows
  Shrinkage shrinkage = Shrinkage::kRows;

  bool erases() const { return method == FixMethod::kErase || method == FixMethod::kEraseBalanced; }
  bool balances() const { return method == FixMethod::kBalanced || method == FixMethod::kEraseBalanced; }
};

struct ScoredChoice {
  HeadChoice choice;
  GroupScores scores;
  std::vector<int64_t> predictions;  // one per fold row, by the head that was not fitted to it
};

// The erasure of an erasing choice, fitted to all rows with group weights, so that its guarantee holds in the balanced mixture.
AffineErasure fitted_erasure(const FitRows& rows, Shrinkage shrinkage);

struct FinalChoice {
  HeadChoice choice;
  AffineErasure erasure;  // of standardised rows
};

// The heads of some choices, each fitted to all rows after its erasure. C is relative to the number of rows.
std::vector<HeadFit> fit_choices(const FitRows& rows, const std::vector<FinalChoice>& choices);

class CrossValidation {
 public:
  // `rows` are those of `folds`, in that order; both must outlive this object.
  CrossValidation(const FitRows& rows, const FoldRows& folds, const GroupScorer& scorer, int64_t training_rows);

  std::vector<ScoredChoice> scored(const std::vector<HeadChoice>& choices);

 private:
  const at::Tensor& preconditioner(bool balanced, double l2);
  std::shared_ptr<const AffineErasure> erasure(Shrinkage shrinkage, size_t fold);
  const at::Tensor& fold_weights(bool balanced, size_t fold);

  const FitRows& rows_;
  const FoldRows& folds_;
  const GroupScorer& scorer_;
  int64_t training_rows_;
  std::map<bool, at::Tensor> covariances_;
  std::map<std::pair<bool, double>, at::Tensor> preconditioners_;
  std::map<std::pair<bool, size_t>, at::Tensor> weights_;
  std::map<std::pair<Shrinkage, size_t>, std::shared_ptr<const AffineErasure>> erasures_;
  std::vector<ClassMoments> moments_;  // with balanced weights, of the rows outside each fold
  std::vector<double> fourths_;
};

}  // namespace debias
