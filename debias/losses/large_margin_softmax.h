// Large-margin softmax: training lowers the label's logit, so that classification needs a smaller angle than with cross-entropy.
//
//   L_a = cross-entropy of z~_a at the label y,   z~_aj = z_aj for j != y,   z~_ay = (blend z_ay + s psi(theta)) / (1 + blend)
//   cos theta = z_ay / s,   psi(theta) = (-1)^k cos(m theta) - 2k for theta in [k pi / m, (k + 1) pi / m]
//
// Input: z [N, C] logits W x. s = |W_y| |x| is the largest possible logit of the label: input.norms [N, C], or without them the option
// `scale` (logits of unit rows and unit weights). m = `margin` is an integer; with 1 the loss is cross-entropy. psi falls from 1 to 1 - 2m,
// is never above cos theta, and is continuously differentiable. cos(m theta) is a polynomial of cos theta, so that no gradient is infinite.
// blend in [0, inf): large values approach cross-entropy; the authors decrease it to 0 during training, as a schedule can. value = mean
// over the rows of known label.
// Errors: usage error for options out of range and missing labels; data error for shapes, dtypes, labels outside -1..C-1, norms that do not
// fit, and a logit of the label larger than s.
//
// Source: Liu, Wen, Yu and Yang 2016 (ICML), eqs. 4 to 6, and the blend of their released code.
#pragma once

#include "debias/core/options.h"
#include "debias/losses/objective.h"

namespace debias {

class LargeMarginSoftmaxOptions {
 public:
  DEBIAS_OPTION(LargeMarginSoftmaxOptions, int64_t, margin, 2)
  DEBIAS_OPTION(LargeMarginSoftmaxOptions, double, blend, 0)
  DEBIAS_OPTION(LargeMarginSoftmaxOptions, double, scale, 16)
  static const OptionTable<LargeMarginSoftmaxOptions>& table();
};

ObjectiveResult large_margin_softmax(const ObjectiveInput& input, const LargeMarginSoftmaxOptions& options);
// norms is [N, C], or undefined: every logit is then at most `scale`.
ObjectiveResult large_margin_softmax(const at::Tensor& logits, const at::Tensor& labels, const at::Tensor& norms,
                                     const LargeMarginSoftmaxOptions& options = {});

ObjectiveEntry large_margin_softmax_entry();

}  // namespace debias
