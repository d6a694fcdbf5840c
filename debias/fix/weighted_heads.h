// Linear heads by weighted multinomial logistic regression; many are fitted at a time on the same rows.
//
//   minimise over W [C, D], b [C]   sum_i w_i (-log softmax(W r(x_i) + b)[y_i]) / sum_i w_i + l2 / 2 |W|^2
//
// x are standardised rows and r an erasure (erasure.h) or the identity; b is not penalised. With weights whose mean over n rows is 1 and l2
// = 1 / (C n), this is scikit-learn's make_pipeline(StandardScaler(), LogisticRegression(C=C)) with sample_weight, for more than two
// classes; with two, C / 2. Weights of 1 / (size of the row's group of class and bias label) make it the group-balanced head of DFR
// (Kirichenko et al. 2023, arXiv 2204.02937) without discarding rows.
//
// Every problem has its own L-BFGS (descent.h), preconditioned by a Cholesky factor of a bound on its Hessian. All problems share one pass
// over the rows per step. Logits are float32, sums over rows double, in an order that does not depend on the number of threads.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "debias/fix/erasure.h"
#include "debias/fix/standard_rows.h"

namespace debias {

// One pass over the rows for many linear heads: their losses and gradients at one point each.
//
//   loss_p     = sum_i w_pi (-log softmax(W_p x_i + b_p)[y_i])
//   gradient_p = sum_i r_pi x_i^T,  residual_p = sum_i r_pi,  r_pi = w_pi (softmax(W_p x_i + b_p) - one-hot(y_i))
//
// Logits are float32, sums over rows double, in an order that does not depend on the number of threads. Where a head has weight 0 for
// kSkippedRows rows or more in a row, as outside a fold, it is not computed there.

constexpr int64_t kSkippedRows = 250;

struct HeadSums {
  double loss = 0;
  at::Tensor gradient;  // double [C, D]
  at::Tensor residual;  // double [C]
};

class HeadPass {
 public:
  // labels: int64 [n] in [0, classes). `rows` must outlive this object.
  HeadPass(const StandardRows& rows, const at::Tensor& labels, int64_t classes);

  // The heads of the next calls, by their weights of rows: float32 [n] each.
  void use(const std::vector<at::Tensor>& weights);

  // weight: float32 [P, C, D], bias: float32 [P, C]; one head for each of use().
  std::vector<HeadSums> sums(const at::Tensor& weight, const at::Tensor& bias) const;

 private:
  struct Block {
    int64_t begin = 0, count = 0;
    at::Tensor weights;  // float32 [heads, count]
  };
  // Rows of which one thread makes the sums.
  struct Part {
    std::vector<int64_t> heads;
    std::vector<Block> blocks;
  };
  struct PartSums {
    std::vector<double> losses, residuals;  // [heads], [heads, C]
    at::Tensor gradients;                   // float32 [heads C, D]
  };

  void add_parts(int64_t begin, int64_t end, const std::vector<int64_t>& heads, const std::vector<at::Tensor>& weights);
  PartSums sums_over(const Part& part, const at::Tensor& weight, const at::Tensor& bias) const;

  const StandardRows& rows_;
  at::Tensor labels_;  // int32
  int64_t classes_, heads_ = 0;
  std::vector<Part> parts_;
};

struct HeadProblem {
  at::Tensor weights;                            // float32 [n], >= 0; 0 leaves the row out
  double l2 = 1e-3;                              // > 0
  at::Tensor preconditioner;                     // double [D, D] (descent.h); shared by problems
  std::shared_ptr<const AffineErasure> erasure;  // of standardised rows; null: none
};

struct LinearHead {
  at::Tensor weight;  // double [C, D]
  at::Tensor bias;    // double [C]
};

struct HeadFit {
  LinearHead head;  // for standardised rows, including the erasure
  bool converged = false;
  int64_t iterations = 0;
  double objective = 0;
};

struct HeadOptions {
  double tolerance = 1e-4;   // gradient norm in V, relative to that at W = 0
  int64_t iterations = 500;  // maximum number
};

// labels int64 [n] in [0, classes).
std::vector<HeadFit> fit_heads(const StandardRows& rows, const at::Tensor& labels, int64_t classes,
                               const std::vector<HeadProblem>& problems, const HeadOptions& options = {});

// The class with the highest logit for rows begin ... begin + count - 1; ties go to the lower class.
std::vector<int64_t> predicted_by(const LinearHead& head, const StandardRows& rows, int64_t begin, int64_t count);

// The same head for rows that are not standardised.
LinearHead unstandardised(const LinearHead& head, const StandardScale& scale);

}  // namespace debias
