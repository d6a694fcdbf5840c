// One pass over the rows for many linear heads: their losses and gradients at one point each.
//
//   loss_p     = sum_i w_pi (-log softmax(W_p x_i + b_p)[y_i])
//   gradient_p = sum_i r_pi x_i^T,  residual_p = sum_i r_pi,  r_pi = w_pi (softmax(W_p x_i + b_p) - one-hot(y_i))
//
// Logits are float32, sums over rows double, in an order that does not depend on the number of threads. Where a head has weight 0 for
// kSkippedRows rows or more in a row, as outside a fold, it is not computed there.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "debias/fix/standard_rows.h"

namespace debias {

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

}  // namespace debias
