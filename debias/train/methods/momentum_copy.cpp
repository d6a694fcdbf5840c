#include "debias/train/methods/momentum_copy.h"

#include <ATen/ATen.h>

#include "debias/encoders/state.h"

namespace debias {
namespace {

void copy_all(const torch::nn::Module& from, const torch::nn::Module& to) {
  const at::NoGradGuard no_grad;
  const auto source = named_state(from), target = named_state(to);
  for (size_t i = 0; i < source.size(); ++i) target[i].second.copy_(source[i].second);
}

}  // namespace

MomentumCopy::MomentumCopy(const Model& of, const Recipe& recipe, int64_t channels) {
  Recipe afresh = recipe;  // weights would be read once more, only to be written over
  afresh.encoder = recipe.encoder.without_weights();
  copy_ = encoder_and_head(afresh, channels);
  copy_.to(of.encoder->parameters().front().device());
  copy_all(*of.encoder, *copy_.encoder);
  copy_all(*of.head, *copy_.head);
  for (const auto* module : networks()) {
    for (auto parameter : module->parameters()) parameter.set_requires_grad(false);
  }
  copy_.train(true);
}

void MomentumCopy::follow(const Model& model, double momentum) {
  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor> to = copy_.parameters();
  std::vector<at::Tensor> from = model.parameters();
  from.resize(to.size());  // without the predictor
  at::_foreach_mul_(to, momentum);
  at::_foreach_add_(to, from, 1 - momentum);
}

std::vector<std::pair<std::string, torch::Tensor>> MomentumCopy::state() const {
  auto all = named_state(*copy_.encoder, "momentum.encoder.");
  for (auto& entry : named_state(*copy_.head, "momentum.head.")) all.push_back(std::move(entry));
  return all;
}

void MomentumCopy::load(const SafetensorsFile& file) {
  load_state(*copy_.encoder, file, "momentum.encoder.");
  load_state(*copy_.head, file, "momentum.head.");
}

}  // namespace debias
