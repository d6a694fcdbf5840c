#include "debias/agent/networks.h"

#include <ATen/ATen.h>

#include <cmath>
#include <numbers>

#include "debias/core/philox.h"
#include "debias/encoders/state.h"

namespace debias {
namespace {

constexpr double kLeastLogDeviation = -10, kMostLogDeviation = 2;
constexpr uint16_t kFirstWeights = 2;  // of the streams of RngDomain::kAgent

int64_t side_after_convolutions(int64_t pixels) { return (pixels - 3) / 2 + 1 - 2 * (kConvolutions - 1); }

// [rows, columns] with orthonormal rows or columns, whichever are fewer: of normal numbers, the signs those of R's diagonal.
at::Tensor orthogonal(int64_t rows, int64_t columns, const RngKey& key) {
  const at::Tensor normal = at::empty({std::max(rows, columns), std::min(rows, columns)}, at::kDouble);
  Random draws(key);
  double* const values = normal.data_ptr<double>();
  for (int64_t i = 0; i < normal.numel(); ++i) values[i] = draws.normal();
  const auto [q, r] = at::linalg_qr(normal);
  const at::Tensor signed_q = q * r.diagonal().sign();
  return rows < columns ? signed_q.t() : signed_q;
}

// The parameters in the order of the module, so that its weights are a function of (seed, part) alone.
void start(const torch::nn::Module& module, uint64_t seed, uint64_t part) {
  const at::NoGradGuard no_grad;
  RngKey key{.domain = RngDomain::kAgent, .seed = seed, .epoch = part, .view = kFirstWeights};
  for (auto& [name, parameter] : named_state(module)) {
    ++key.sample;
    if (name.ends_with("norm.weight")) continue;  // of a layer norm: 1
    parameter.zero_();
    if (parameter.dim() == 2) parameter.copy_(orthogonal(parameter.size(0), parameter.size(1), key));
    if (parameter.dim() == 4) {
      const int64_t centre = parameter.size(2) / 2;
      parameter.select(3, centre).select(2, centre).copy_(orthogonal(parameter.size(0), parameter.size(1), key) * std::numbers::sqrt2);
    }
  }
}

}  // namespace

PixelConvolutionsImpl::PixelConvolutionsImpl(const NetworkShape& shape) : layers_{nullptr, nullptr, nullptr, nullptr} {
  for (size_t i = 0; i < layers_.size(); ++i) {
    const auto options = torch::nn::Conv2dOptions(i == 0 ? shape.channels : shape.filters, shape.filters, 3).stride(i == 0 ? 2 : 1);
    layers_[i] = register_module("conv" + std::to_string(i + 1), torch::nn::Conv2d(options));
  }
  const int64_t side = side_after_convolutions(shape.pixels);
  outputs_ = shape.filters * side * side;
}

torch::Tensor PixelConvolutionsImpl::forward(const torch::Tensor& pictures) {
  torch::Tensor x = pictures.to(layers_[0]->weight.scalar_type()).div_(255);
  for (auto& layer : layers_) x = layer(x).relu_();
  return x.flatten(1);
}

PixelFeaturesImpl::PixelFeaturesImpl(int64_t inputs, const NetworkShape& shape)
    : linear_(register_module("linear", torch::nn::Linear(inputs, shape.features))),
      norm_(register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({shape.features})))) {}

TwoHiddenLayersImpl::TwoHiddenLayersImpl(int64_t inputs, int64_t hidden, int64_t outputs)
    : first_(register_module("first", torch::nn::Linear(inputs, hidden))),
      second_(register_module("second", torch::nn::Linear(hidden, hidden))),
      last_(register_module("last", torch::nn::Linear(hidden, outputs))) {}

torch::Tensor TwoHiddenLayersImpl::forward(const torch::Tensor& x) { return last_(second_(first_(x).relu_()).relu_()); }

CriticImpl::CriticImpl(const NetworkShape& shape)
    : convolutions(register_module("convolutions", PixelConvolutions(shape))),
      features(register_module("features", PixelFeatures(convolutions->outputs(), shape))),
      first(register_module("first", TwoHiddenLayers(shape.features + shape.actions, shape.hidden, 1))),
      second(register_module("second", TwoHiddenLayers(shape.features + shape.actions, shape.hidden, 1))) {}

std::pair<torch::Tensor, torch::Tensor> CriticImpl::values(const torch::Tensor& convolved, const torch::Tensor& actions) {
  const torch::Tensor input = at::cat({features(convolved), actions}, 1);
  return {first(input).squeeze(1), second(input).squeeze(1)};
}

ActorImpl::ActorImpl(int64_t convolution_outputs, const NetworkShape& shape)
    : features(register_module("features", PixelFeatures(convolution_outputs, shape))),
      policy(register_module("policy", TwoHiddenLayers(shape.features, shape.hidden, 2 * shape.actions))) {}

std::pair<torch::Tensor, torch::Tensor> ActorImpl::distribution(const torch::Tensor& convolved) {
  const auto parts = policy(features(convolved)).chunk(2, 1);
  const torch::Tensor within = (parts[1].tanh() + 1) * (0.5 * (kMostLogDeviation - kLeastLogDeviation)) + kLeastLogDeviation;
  return {parts[0], within};
}

torch::Tensor ActorImpl::mean(const torch::Tensor& convolved) { return distribution(convolved).first.tanh(); }

DrawnAction ActorImpl::draw(const torch::Tensor& convolved, const torch::Tensor& noise) {
  const auto [centre, log_deviation] = distribution(convolved);
  const torch::Tensor action = (centre + noise * log_deviation.exp()).tanh();
  const torch::Tensor normal =
      (-0.5 * noise.square() - log_deviation).sum(1) - 0.5 * std::log(2 * std::numbers::pi) * static_cast<double>(noise.size(1));
  return {action, normal - ((1 - action.square()).relu() + 1e-6).log().sum(1)};
}

AgentNetworksImpl::AgentNetworksImpl(const NetworkShape& shape, double temperature, uint64_t seed)
    : critic(register_module("critic", Critic(shape))),
      target(register_module("target", Critic(shape))),
      actor(register_module("actor", Actor(critic->convolutions->outputs(), shape))) {
  start(*critic, seed, 0);
  start(*actor, seed, 1);
  const at::NoGradGuard no_grad;
  const auto from = critic->parameters(), to = target->parameters();
  for (size_t i = 0; i < to.size(); ++i) to[i].copy_(from[i]).set_requires_grad(false);
  torch::Tensor weights = at::empty({shape.features, shape.features}, at::kFloat);
  Random draws({.domain = RngDomain::kAgent, .seed = seed, .epoch = 2, .view = kFirstWeights});
  for (int64_t i = 0; i < weights.numel(); ++i) weights.data_ptr<float>()[i] = static_cast<float>(draws.uniform());
  bilinear = register_parameter("bilinear", weights);
  log_temperature = register_parameter("log_temperature", at::scalar_tensor(std::log(temperature), at::kFloat));
}

}  // namespace debias
