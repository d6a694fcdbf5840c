#include "debias/losses/cross_entropy.h"

#include <ATen/ATen.h>

#include "debias/core/error.h"
#include "debias/losses/anchor_losses.h"
#include "debias/losses/objective_entry.h"
#include "debias/losses/pair_keys.h"
#include "debias/losses/two_view.h"

namespace debias {
namespace {

constexpr char kCrossEntropyName[] = "cross_entropy";

}  // namespace

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

const OptionTable<CrossEntropyOptions>& CrossEntropyOptions::table() {
  static const auto table = OptionTable<CrossEntropyOptions>().with_variants();
  return table;
}

ObjectiveResult cross_entropy(const ObjectiveInput& input, const CrossEntropyOptions&) {
  const LabelledLogits rows = labelled_logits(input, kCrossEntropyName);
  return mean_over_anchors({.loss = -rows.log_probability(), .used = rows.known, .clamped = 0, .min_estimate = {}}, 1, {});
}

ObjectiveResult cross_entropy(const at::Tensor& logits, const at::Tensor& labels, const CrossEntropyOptions& options) {
  return cross_entropy(ObjectiveInput{.z = logits, .labels = labels}, options);
}

bool is_cross_entropy(const ObjectiveOptions& options) {
  return dynamic_cast<const FunctionOptions<CrossEntropyOptions>*>(&options) != nullptr;
}

ObjectiveEntry cross_entropy_entry() {
  ObjectiveEntry entry;
  entry.name = kCrossEntropyName;
  entry.aliases = {"ce"};
  entry.summary = "negative log-likelihood of the label, on logits";
  entry.kind = InputKind::kLogits;
  entry.needs_labels = true;
  return with_options<CrossEntropyOptions>(std::move(entry), cross_entropy);
}

}  // namespace debias
