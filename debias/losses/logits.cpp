#include "debias/losses/logits.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "debias/core/error.h"
#include "debias/losses/comparison.h"
#include "debias/losses/objective_entry.h"

namespace debias {

void check_keys(const at::Tensor& keys, int64_t count, const char* what, const char* of, const char* objective) {
  const at::Tensor wrong = keys.lt(-1).logical_or(keys.ge(count)).nonzero();
  if (wrong.size(0) == 0) return;
  const int64_t sample = wrong[0][0].item<int64_t>();
  throw data_error("{}: {} {} of sample {} is outside 0..{}, the {} given ({} of {} are; -1 = unknown); correct them", objective, what,
                   keys[sample].item<int64_t>(), sample, count - 1, of, wrong.size(0), keys.size(0));
}

LabelledLogits labelled_logits(const ObjectiveInput& input, const char* objective) {
  const at::Tensor& z = input.z;
  if (!z.defined() || z.dim() != 2 || !z.is_floating_point() || z.numel() == 0) {
    throw data_error("{}: expected non-empty floating-point logits [samples, classes], found {}", objective,
                     z.defined() ? fmt::format("{} of shape {}", c10::toString(z.scalar_type()), c10::str(z.sizes())) : "none");
  }
  refuse_keys(input, objective);
  if (input.engine == Engine::kFused || input.engine == Engine::kBlocked) {
    throw usage_error("{}: works on logits, there are no pairs to fuse; give engine dense or auto", objective);
  }
  require_labels(input, objective, "the target");
  const at::Tensor label = pair_keys(input, 1, objective).label;
  if (!input.vouched) check_keys(label, z.size(1), "label", "logits", objective);
  return {z.scalar_type() == at::kDouble ? z : z.to(at::kFloat), label.clamp_min(0), label.ge(0)};
}

at::Tensor LabelledLogits::log_probability(const at::Tensor& of_logits) const {
  return at::log_softmax(of_logits, 1).gather(1, label.unsqueeze(1)).squeeze(1);
}

ObjectiveResult CrossEntropyOptions::loss(const ObjectiveInput& input) const {
  const LabelledLogits rows = labelled_logits(input, kName);
  return mean_over_anchors({.loss = -rows.log_probability(), .used = rows.known}, 1);
}

bool is_cross_entropy(const ObjectiveOptions& options) { return dynamic_cast<const OptionsOf<CrossEntropyOptions>*>(&options) != nullptr; }

ObjectiveResult GeneralizedCrossEntropyOptions::loss(const ObjectiveInput& input) const {
  const LabelledLogits rows = labelled_logits(input, kName);
  const at::Tensor log_p = rows.log_probability();
  const double power = q;
  const at::Tensor loss = form == GceForm::kStandard ? -(power * log_p).expm1() / power : -power * (power * log_p).exp().detach() * log_p;
  return mean_over_anchors({.loss = loss, .used = rows.known}, 1);
}

namespace {

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
                     LargeMarginSoftmaxOptions::kName, c10::str(rows.logits.sizes()), c10::toString(norms.scalar_type()),
                     c10::str(norms.sizes()));
  }
  return norms.to(rows.logits.scalar_type()).gather(1, rows.label.unsqueeze(1)).squeeze(1).clamp_min(kLeastNorm);
}

void refuse_larger(const at::Tensor& logit, const at::Tensor& norm, const at::Tensor& known, bool given) {
  const at::Tensor wrong = logit.abs().gt(norm * (1 + kRoundingOfNorms)).logical_and(known).nonzero();
  if (wrong.size(0) == 0) return;
  const int64_t sample = wrong[0][0].item<int64_t>();
  throw data_error("{}: the logit {:.6g} of sample {} is larger than its bound {:.6g}, {} ({} of {} are); {}",
                   LargeMarginSoftmaxOptions::kName, logit[sample].item<double>(), sample, norm[sample].item<double>(),
                   given ? "the product of the norms" : "option scale", wrong.size(0), logit.size(0),
                   given ? "give |W| |x| of these logits" : "raise scale to the factor of the unit rows");
}

}  // namespace

ObjectiveResult LargeMarginSoftmaxOptions::loss(const ObjectiveInput& input) const {
  const LabelledLogits rows = labelled_logits(input, kName);
  const at::Tensor place = rows.label.unsqueeze(1), logit = rows.logits.gather(1, place).squeeze(1);
  const at::Tensor norm = norms_of_label(input, rows, scale);
  if (!input.vouched) refuse_larger(logit.detach(), norm.detach(), rows.known, input.norms.defined());
  const at::Tensor cosine = (logit / norm).clamp(-1, 1);
  const at::Tensor lowered = (blend * logit + norm * psi(cosine, margin)) / (1 + blend);
  const at::Tensor loss = -rows.log_probability(rows.logits.scatter(1, place, lowered.unsqueeze(1)));
  return mean_over_anchors({.loss = loss, .used = rows.known}, 1);
}

namespace {

constexpr double kLeastProbability = 1e-9;  // added to P(y | b), as in the authors' code
constexpr double kSumTolerance = 1e-3;

// Addend of each row's logits, and the usable rows: bias labels as indices of the table's columns.
struct PriorOfRows {
  at::Tensor table;   // double [C, G], G >= 1
  at::Tensor column;  // int64 [N], 0 where the row is not used
  at::Tensor used;    // bool [N]
};

PriorOfRows given_prior(const at::Tensor& prior, const at::Tensor& bias, const LabelledLogits& rows) {
  const int64_t classes = rows.logits.size(1);
  if (prior.dim() != 2 || prior.size(0) != classes || prior.size(1) == 0 || !prior.is_floating_point()) {
    throw data_error("{}: prior: expected floating-point P(y | b) of shape [{}, bias labels], found {} of shape {}",
                     BiasBalancedOptions::kName, classes, c10::toString(prior.scalar_type()), c10::str(prior.sizes()));
  }
  check_keys(bias, prior.size(1), "bias label", "columns of the prior",
             BiasBalancedOptions::kName);  // also of who vouches: the prior is another's
  PriorOfRows found = {prior.detach().to(bias.device(), at::kDouble), bias.clamp_min(0), bias.ge(0).logical_and(rows.known)};
  if (!found.table.ge(0).logical_and(found.table.le(1 + kSumTolerance)).all().item<bool>()) {
    throw data_error("{}: prior: P(y | b) must be in [0, 1]; the table [labels, bias labels] has other entries",
                     BiasBalancedOptions::kName);
  }
  const at::Tensor sums = found.table.sum(0).index_select(0, found.column);
  const at::Tensor wrong = (sums - 1).abs().gt(kSumTolerance).logical_and(found.used).nonzero();
  if (wrong.size(0) == 0) return found;
  const int64_t row = wrong[0][0].item<int64_t>();
  throw data_error("{}: prior: column {} sums to {:.6g}, P(y | b) over labels sums to 1; give it as [labels, bias labels]",
                   BiasBalancedOptions::kName, found.column[row].item<int64_t>(), sums[row].item<double>());
}

PriorOfRows counted_prior(const at::Tensor& bias, const LabelledLogits& rows) {
  check_keys(bias, std::numeric_limits<int64_t>::max(), "bias label", "counted prior", BiasBalancedOptions::kName);
  const auto [values, index] = at::_unique(bias, true, true);
  const at::Tensor used = bias.ge(0).logical_and(rows.known);
  const int64_t groups = values.size(0);
  const at::Tensor counts = at::zeros({rows.logits.size(1) * groups}, used.options().dtype(at::kDouble))
                                .index_add(0, rows.label * groups + index, used.to(at::kDouble))
                                .view({-1, groups});
  return {counts / counts.sum(0).clamp_min(1), index, used};
}

}  // namespace

ObjectiveResult BiasBalancedOptions::loss(const ObjectiveInput& input) const {
  const LabelledLogits rows = labelled_logits(input, kName);
  if (!input.bias.defined()) throw usage_error("{}: needs bias labels; none were given", kName);
  const at::Tensor bias = pair_keys(input, 1, kName).bias;
  const PriorOfRows prior = input.prior.defined() ? given_prior(input.prior, bias, rows) : counted_prior(bias, rows);
  const at::Tensor offsets = (prior.table + kLeastProbability).log().t().index_select(0, prior.column).to(rows.logits.scalar_type());
  const at::Tensor loss = -rows.log_probability(rows.logits + offsets);
  return mean_over_anchors({.loss = loss, .used = prior.used}, 1);
}

}  // namespace debias
