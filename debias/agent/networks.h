// The networks of an agent that learns from pixels (CURL on soft actor-critic; Laskin, Srinivas and Abbeel 2020).
//
//   convolutions  3 x 3, strides 2, 1, 1, 1, ReLU after each, on images / 255
//   features      linear, layer norm
//   critic        convolutions, features, and two heads Q(features, action) of two hidden layers
//   actor         the critic's convolutions, features of its own, two hidden layers; a tanh-squashed normal distribution
//   target        a copy of the critic that follows it
//
// Linear layers start orthogonal, convolutions orthogonal in their centre tap and zero elsewhere; all biases are zero.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <array>
#include <cstdint>
#include <utility>

namespace debias {

struct NetworkShape {
  int64_t channels = 9;
  int64_t pixels = 84;  // of a crop
  int64_t filters = 32;
  int64_t features = 50;
  int64_t hidden = 1024;
  int64_t actions = 1;
};

inline constexpr int64_t kConvolutions = 4;
inline constexpr int64_t kLeastCrop = 2 * kConvolutions + 3;  // of which one pixel is left

class PixelConvolutionsImpl : public torch::nn::Module {
 public:
  explicit PixelConvolutionsImpl(const NetworkShape& shape);
  torch::Tensor forward(const torch::Tensor& pictures);  // uint8 [B, channels, pixels, pixels] to [B, outputs()]
  int64_t outputs() const { return outputs_; }

 private:
  std::array<torch::nn::Conv2d, kConvolutions> layers_;
  int64_t outputs_;
};
TORCH_MODULE(PixelConvolutions);

class PixelFeaturesImpl : public torch::nn::Module {
 public:
  PixelFeaturesImpl(int64_t inputs, const NetworkShape& shape);
  torch::Tensor forward(const torch::Tensor& convolved) { return norm_(linear_(convolved)); }

 private:
  torch::nn::Linear linear_;
  torch::nn::LayerNorm norm_;
};
TORCH_MODULE(PixelFeatures);

class TwoHiddenLayersImpl : public torch::nn::Module {
 public:
  TwoHiddenLayersImpl(int64_t inputs, int64_t hidden, int64_t outputs);
  torch::Tensor forward(const torch::Tensor& x);

 private:
  torch::nn::Linear first_, second_, last_;
};
TORCH_MODULE(TwoHiddenLayers);

class CriticImpl : public torch::nn::Module {
 public:
  explicit CriticImpl(const NetworkShape& shape);
  std::pair<torch::Tensor, torch::Tensor> values(const torch::Tensor& convolved, const torch::Tensor& actions);  // [B] each

  PixelConvolutions convolutions;
  PixelFeatures features;
  TwoHiddenLayers first, second;
};
TORCH_MODULE(Critic);

struct DrawnAction {
  torch::Tensor action;          // [B, actions], in (-1, 1)
  torch::Tensor log_likelihood;  // [B]
};

class ActorImpl : public torch::nn::Module {
 public:
  ActorImpl(int64_t convolution_outputs, const NetworkShape& shape);
  torch::Tensor mean(const torch::Tensor& convolved);                            // tanh of the distribution's centre
  DrawnAction draw(const torch::Tensor& convolved, const torch::Tensor& noise);  // noise: standard normal [B, actions]

  PixelFeatures features;
  TwoHiddenLayers policy;

 private:
  std::pair<torch::Tensor, torch::Tensor> distribution(const torch::Tensor& convolved);  // centre, log deviation
};
TORCH_MODULE(Actor);

// All that an agent learns.
class AgentNetworksImpl : public torch::nn::Module {
 public:
  AgentNetworksImpl(const NetworkShape& shape, double temperature, uint64_t seed);

  Critic critic;
  Critic target;  // without gradient
  Actor actor;
  torch::Tensor bilinear;         // [features, features]: the score of two images is z_a W z_b
  torch::Tensor log_temperature;  // of the policy: weight of its entropy
};
TORCH_MODULE(AgentNetworks);

}  // namespace debias
