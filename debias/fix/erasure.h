// Class-conditional erasure of a bias from features: the smallest affine change after which no affine predictor of the bias beats a
// constant in the mixture of classes that the weights define.
//
// x are rows and z their bias columns, both minus the weighted means of their class. With S = sum w x x' (shrunk) and C = sum w x z',
//
//   r(x) = x - left right (x - mean),   left = C V L^(-1/2),   right = L^(-1/2) V' C' S^(-1),   C' S^(-1) C = V L V'
//
// which is x - W+ U U' W (x - mean) of LEACE (Belrose et al. 2023, arXiv 2306.03819, theorem 4.3) with W = S^(-1/2) and U the left singular
// vectors of W C: one Cholesky factor in place of the square root. right left = 1, so r is a projection, and the weighted cross covariance
// of r(x) and z within the classes is 0. This holds in the weighted mixture: within one class, or in another mixture, a probe may still
// find the bias.
#pragma once

#include <ATen/core/Tensor.h>

#include "debias/core/enum_names.h"
#include "debias/fix/standard_rows.h"

namespace debias {

struct AffineErasure {
  at::Tensor mean;   // double [D]
  at::Tensor left;   // double [D, r]
  at::Tensor right;  // double [r, D]

  int64_t rank() const { return left.size(1); }
  at::Tensor apply(const at::Tensor& x) const;  // [n, D], in the type of x

  static AffineErasure none(int64_t dimensions);  // of rank 0: the identity
};

// Ledoit and Wolf's shrinkage towards the mean variance, S <- (1 - rho) S + rho tr(S) / D. The number of rows is that of all rows, or the
// effective number (sum w)^2 / sum w^2.
enum class Shrinkage { kRows, kEffective };
constexpr auto enum_words(Shrinkage) { return named("rows", "effective"); }

// rho of a covariance S whose rows have the mean fourth power `fourth` of their norms, estimated from `count` rows.
double ledoit_wolf(const at::Tensor& covariance, double fourth, double count);

// `fourth` is the weighted mean of |x - mean of its class|^4. The rank is 0 if the bias does not vary within the classes.
AffineErasure class_conditional_erasure(const ClassMoments& moments, double fourth, Shrinkage shrinkage);

// Converts the map to one for standardised rows, and back.
AffineErasure standardised(const AffineErasure& erasure, const StandardScale& scale);
AffineErasure unstandardised(const AffineErasure& erasure, const StandardScale& scale);

// LEACE as the package concept-erasure fits it by default (Belrose et al. 2023, arXiv 2306.03819; LeaceFitter of version 0.2.4). It serves
// as a comparison, because it also removes what the bias shares with the label.
//
// It is unweighted, ignores classes and uses rows that are not standardised. S is over n rows, shrunk by the optimal linear shrinkage of
// Bodnar et al. (arXiv 1308.2608). The cross covariance is over n - 1. Singular values up to 0.01 are not erased. If the projection would
// raise the trace of the covariance, it is mixed with the orthogonal projection so as to keep the trace.

// Moments of rows before standardisation.
struct LeaceMoments {
  at::Tensor mean;        // [D]
  at::Tensor covariance;  // [D, D], over n
  at::Tensor cross;       // [D, K], with the bias columns, over n - 1
  int64_t count = 0;      // n
};

// `z` is double [rows, K]. Uses the rows where `used` [rows] is true, at least two, in blocks.
LeaceMoments leace_moments(const StandardRows& rows, const at::Tensor& z, const at::Tensor& used);
AffineErasure leace(const LeaceMoments& moments);

}  // namespace debias
