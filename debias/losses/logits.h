// Losses on the logits of a classifier: cross_entropy, generalized_cross_entropy, large_margin_softmax, bias_balanced.
#pragma once

#include <ATen/core/Tensor.h>

#include "debias/core/options.h"
#include "debias/losses/objective.h"

namespace debias {

// Cross-entropy on logits, and the parts that all objectives on logits share.
//
//   L_a = -log p_a,   p_a = softmax(z_a) at the label y_a,   value = mean over the rows of known label
//
// Input: z [N, C] logits, not normalised and finite; labels in 0..C-1. A row with label -1 (unknown) leaves the mean; with no row left the
// value is 0. The computation stays in log space, so logits may be large. There are no options.
// Errors: usage error for missing labels; data error for shapes, dtypes, and labels outside -1..C-1, naming the first and their number.
struct LabelledLogits {
  at::Tensor logits;  // [N, C] float32 or float64: half precision becomes float32
  at::Tensor label;   // int64 [N], 0 where unknown
  at::Tensor known;   // bool [N]

  at::Tensor log_probability() const { return log_probability(logits); }  // [N] of the label
  at::Tensor log_probability(const at::Tensor& of_logits) const;          // the same under other logits
};
LabelledLogits labelled_logits(const ObjectiveInput& input, const char* objective);

// Data error unless every key is -1 or in 0..count-1. `what` is "label" or "bias label"; `of` names what `count` counts ("logits").
void check_keys(const at::Tensor& keys, int64_t count, const char* what, const char* of, const char* objective);

struct CrossEntropyOptions {
  static constexpr char kName[] = "cross_entropy";
  void describe(OptionVisitor& o) { o.with_variants(); }

  ObjectiveResult loss(const ObjectiveInput& input) const;  // the options must be in their ranges
};

bool is_cross_entropy(const ObjectiveOptions& options);  // true for options of this entry

inline ObjectiveResult cross_entropy(const ObjectiveInput& input, const CrossEntropyOptions& options) {
  return checked_loss(input, options);
}
inline ObjectiveResult cross_entropy(const at::Tensor& logits, const at::Tensor& labels, const CrossEntropyOptions& options = {}) {
  return checked_loss({.z = logits, .labels = labels}, options);
}

// Generalized cross-entropy, between cross-entropy (q near 0) and the mean absolute error (q = 1). It gives less weight to samples that the
// network finds hard. Debiasing methods train their biased network with it.
//
//   standard: L_a = (1 - p_a^q) / q              lff: L_a = q p_a^q (-log p_a), the factor q p_a^q without gradient
//
// Input: z [N, C] logits, not normalised; p_a = softmax(z_a) at the label y_a; q in (0, 1]. value = mean over the rows of known label (-1
// is unknown), 0 without one. The gradient of lff is q times that of standard. Powers are computed from log p, so that nothing overflows
// and p = 0 has gradient 0.
// Errors: usage error for options out of range and missing labels; data error for shapes, dtypes and labels outside -1..C-1.
//
// Sources: Zhang and Sabuncu 2018 (NeurIPS); lff is the released code of Nam et al. 2020 (LfF), which Lee et al. 2021 (DFA) use as well.
enum class GceForm { kStandard, kLff };

constexpr auto enum_words(GceForm) { return named("standard", "lff"); }

struct GeneralizedCrossEntropyOptions {
  static constexpr char kName[] = "generalized_cross_entropy";
  double q = 0.7;
  GceForm form = GceForm::kStandard;
  void describe(OptionVisitor& o) {
    o("q", q, Range::open_closed(0, 1), "exponent q: cross-entropy near 0, the mean absolute error at 1");
    o("form", form, "(1 - p^q) / q, or cross-entropy weighted with q p^q");
    o.with_variants();
    o.variant("authors", "form", "lff");
  }

  ObjectiveResult loss(const ObjectiveInput& input) const;  // the options must be in their ranges
};

inline ObjectiveResult generalized_cross_entropy(const ObjectiveInput& input, const GeneralizedCrossEntropyOptions& options) {
  return checked_loss(input, options);
}
inline ObjectiveResult generalized_cross_entropy(const at::Tensor& logits, const at::Tensor& labels,
                                                 const GeneralizedCrossEntropyOptions& options = {}) {
  return checked_loss({.z = logits, .labels = labels}, options);
}

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
struct LargeMarginSoftmaxOptions {
  static constexpr char kName[] = "large_margin_softmax";
  int64_t margin = 2;
  double blend = 0;
  double scale = 16;
  void describe(OptionVisitor& o) {
    o("margin", margin, Range::closed(1, 8), "m, the factor of the angle to the label's weight; 1: cross-entropy");
    o("blend", blend, Range::at_least(0), "weight of the plain logit against the lowered one; large values give cross-entropy");
    o("scale", scale, Range::closed(1e-3, 1e6), "maximum of a logit, used without norms; training passes the norms");
    o.with_variants();
    o.variant("paper", "margin", "4");
    o.variant("authors", "margin", "4");
  }

  ObjectiveResult loss(const ObjectiveInput& input) const;  // the options must be in their ranges
};

inline ObjectiveResult large_margin_softmax(const ObjectiveInput& input, const LargeMarginSoftmaxOptions& options) {
  return checked_loss(input, options);
}
// norms is [N, C], or undefined: every logit is then at most `scale`.
inline ObjectiveResult large_margin_softmax(const at::Tensor& logits, const at::Tensor& labels, const at::Tensor& norms,
                                            const LargeMarginSoftmaxOptions& options = {}) {
  return checked_loss({.z = logits, .labels = labels, .norms = norms}, options);
}

// Bias-balanced cross-entropy: training adds the log of P(label | bias label) to the logits, so that the network does not have to learn it.
//
//   L_a = cross-entropy of z_a + ln( P(y | b_a) + 1e-9 ) at the label y_a,   value = mean over the rows of known label and bias label
//
// Input: z [N, C] logits, not normalised; labels in 0..C-1 and bias labels. A row with an unknown label or bias label (-1) leaves the mean;
// with no row left the value is 0. P(y | b) is input.prior [C, G], whose column b is a distribution over labels, with b in 0..G-1. Without
// a prior it is counted from the rows of the batch, for any b >= 0. At test time, use the plain logits.
// Errors: usage error for missing labels or bias labels; data error for shapes, dtypes, keys out of range, and a prior with entries outside
// [0, 1] or with a used column that does not sum to 1 within 1e-3.
//
// Source: Hong and Yang 2021 (NeurIPS) and their released code, which takes the prior from the training set's table of counts, as `prior`
// should.
struct BiasBalancedOptions {
  static constexpr char kName[] = "bias_balanced";
  void describe(OptionVisitor& o) { o.with_variants(); }

  ObjectiveResult loss(const ObjectiveInput& input) const;  // the options must be in their ranges
};

inline ObjectiveResult bias_balanced(const ObjectiveInput& input, const BiasBalancedOptions& options) {
  return checked_loss(input, options);
}
// An undefined prior is counted from the batch.
inline ObjectiveResult bias_balanced(const at::Tensor& logits, const at::Tensor& labels, const at::Tensor& bias,
                                     const at::Tensor& prior = {}) {
  return checked_loss({.z = logits, .labels = labels, .bias = bias, .prior = prior}, BiasBalancedOptions());
}

}  // namespace debias
