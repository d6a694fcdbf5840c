// Cross-validation of heads: each row is scored by a head that was not fitted to it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "debias/fix/fit_rows.h"
#include "debias/fix/fix_method.h"
#include "debias/fix/folds.h"
#include "debias/fix/group_scores.h"
#include "debias/fix/weighted_heads.h"

namespace debias {

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
