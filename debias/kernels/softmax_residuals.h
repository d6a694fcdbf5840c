// Cross-entropy of many linear heads on the same rows, and its gradient in their logits.
//
//   losses[p]       = sum_i w_pi (log sum_c e^{x_pci} - x_{p y_i i})
//   x_pci           = w_pi (softmax_c(x_p.i) - [c = y_i])
//   residuals[p, c] = sum_i x_pci
//
// Exponentials are float32, sums over rows double, in an order that depends on the number of rows alone. NaN stays NaN.
#pragma once

#include <cstdint>

namespace debias::kernels {

struct HeadLogits {
  int64_t heads = 0, classes = 0, rows = 0;
  float* x = nullptr;               // [heads, classes, rows]: logits before, residuals afterwards
  const int32_t* labels = nullptr;  // [rows], in [0, classes)
  const float* weights = nullptr;   // [heads, rows]
};

// losses: [heads], residuals: [heads, classes]; both are added to.
void add_softmax_residuals(const HeadLogits& logits, double* losses, double* residuals);

}  // namespace debias::kernels
