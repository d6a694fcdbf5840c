#include "debias/losses/large_margin_softmax.h"

#include <ATen/ATen.h>

#include <cmath>
#include <numbers>

#include "debias/core/error.h"
#include "debias/losses/anchor_losses.h"
#include "debias/losses/cross_entropy.h"
#include "debias/losses/objective_entry.h"

namespace debias {
namespace {

constexpr char kLargeMarginSoftmaxName[] = "large_margin_softmax";
constexpr double kLeastNorm = 1e-12;       // of a row or weight of zeros, whose angle is then a right one
constexpr double kRoundingOfNorms = 1e-3;  // by which a logit may pass its norms

// cos(m theta) of cos theta, by cos((j + 1) theta) = 2 cos theta cos(j theta) - cos((j - 1) theta).
at::Tensor cosine_of_multiple(const at::Tensor& cosine, int64_t multiple) {
  at::Tensor before = at::ones_like(cosine), current = cosine;
  for (int64_t j = 1; j < multiple; ++j) {
    const at::Tensor next = 2 * cosine * current - before;
    before = current;
    current = next;
  }
  return current;
}

at::Tensor psi(const at::Tensor& cosine, int64_t margin) {
  at::Tensor piece = at::zeros_like(cosine.detach());  // k
  for (int64_t j = 1; j < margin; ++j) piece += cosine.detach().lt(std::cos(j * std::numbers::pi / static_cast<double>(margin)));
  return (1 - 2 * piece.remainder(2)) * cosine_of_multiple(cosine, margin) - 2 * piece;
}

at::Tensor norms_of_label(const ObjectiveInput& input, const LabelledLogits& rows, double scale) {
  const at::Tensor& norms = input.norms;
  if (!norms.defined()) return at::full({rows.logits.size(0)}, scale, rows.logits.options().requires_grad(false));
  if (norms.sizes() != rows.logits.sizes() || !norms.is_floating_point()) {
    throw data_error("{}: norms: expected the maximum of each logit, floating-point of shape {}, found {} of shape {}",
                     kLargeMarginSoftmaxName, c10::str(rows.logits.sizes()), c10::toString(norms.scalar_type()), c10::str(norms.sizes()));
  }
  return norms.to(rows.logits.scalar_type()).gather(1, rows.label.unsqueeze(1)).squeeze(1).clamp_min(kLeastNorm);
}

void refuse_larger(const at::Tensor& logit, const at::Tensor& norm, const at::Tensor& known, bool given) {
  const at::Tensor wrong = logit.abs().gt(norm * (1 + kRoundingOfNorms)).logical_and(known).nonzero();
  if (wrong.size(0) == 0) return;
  const int64_t sample = wrong[0][0].item<int64_t>();
  throw data_error("{}: the logit {:.6g} of sample {} is larger than its bound {:.6g}, {} ({} of {} are); {}", kLargeMarginSoftmaxName,
                   logit[sample].item<double>(), sample, norm[sample].item<double>(), given ? "the product of the norms" : "option scale",
                   wrong.size(0), logit.size(0), given ? "give |W| |x| of these logits" : "raise scale to the factor of the unit rows");
}

ObjectiveResult with_margin(const ObjectiveInput& input, const LargeMarginSoftmaxOptions& options) {
  const LabelledLogits rows = labelled_logits(input, kLargeMarginSoftmaxName);
  const at::Tensor place = rows.label.unsqueeze(1), logit = rows.logits.gather(1, place).squeeze(1);
  const at::Tensor norm = norms_of_label(input, rows, options.scale());
  if (!input.vouched) refuse_larger(logit.detach(), norm.detach(), rows.known, input.norms.defined());
  const at::Tensor cosine = (logit / norm).clamp(-1, 1);
  const at::Tensor lowered = (options.blend() * logit + norm * psi(cosine, options.margin())) / (1 + options.blend());
  const at::Tensor loss = -rows.log_probability(rows.logits.scatter(1, place, lowered.unsqueeze(1)));
  return mean_over_anchors({.loss = loss, .used = rows.known, .clamped = 0, .min_estimate = {}}, 1, {});
}

}  // namespace

const OptionTable<LargeMarginSoftmaxOptions>& LargeMarginSoftmaxOptions::table() {
  using Self = LargeMarginSoftmaxOptions;
  static const auto table =
      OptionTable<Self>()
          .add("margin", &Self::margin_, Range::closed(1, 8), "m, the factor of the angle to the label's weight; 1: cross-entropy")
          .add("blend", &Self::blend_, Range::at_least(0),
               "weight of the plain logit against the lowered one; large values give cross-entropy")
          .add("scale", &Self::scale_, Range::closed(1e-3, 1e6), "maximum of a logit, used without norms; training passes the norms")
          .with_variants()
          .variant("paper", "margin", "4")
          .variant("authors", "margin", "4");
  return table;
}

ObjectiveResult large_margin_softmax(const ObjectiveInput& input, const LargeMarginSoftmaxOptions& options) {
  return with_margin(input, verified(options, kLargeMarginSoftmaxName));
}

ObjectiveResult large_margin_softmax(const at::Tensor& logits, const at::Tensor& labels, const at::Tensor& norms,
                                     const LargeMarginSoftmaxOptions& options) {
  return large_margin_softmax(ObjectiveInput{.z = logits, .labels = labels, .norms = norms}, options);
}

ObjectiveEntry large_margin_softmax_entry() {
  ObjectiveEntry entry;
  entry.name = kLargeMarginSoftmaxName;
  entry.aliases = {"max_margin"};
  entry.summary = "cross-entropy that multiplies the angle to the label's weight by a margin (Liu et al. 2016)";
  entry.kind = InputKind::kLogits;
  entry.needs_labels = true;
  entry.takes_norms = true;
  return with_options<LargeMarginSoftmaxOptions>(std::move(entry), with_margin);
}

}  // namespace debias
