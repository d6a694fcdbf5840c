#include "debias/encoders/initialise.h"

#include <ATen/Parallel.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "debias/core/philox.h"

namespace debias {
namespace {

constexpr int64_t kBlock = 1024;  // numbers of one stream; blocks are drawn in parallel

// Calls draw(random, first element, count) for each block of the tensor.
template <class Draw>
void fill(const at::Tensor& tensor, const RngKey& key, Draw draw) {
  float* const data = tensor.data_ptr<float>();
  const int64_t count = tensor.numel();
  at::parallel_for(0, (count + kBlock - 1) / kBlock, 1, [&](int64_t first, int64_t last) {
    for (int64_t block = first; block < last; ++block) {
      RngKey block_key = key;
      block_key.occurrence = static_cast<uint32_t>(block);
      Random random(block_key);
      draw(random, data + block * kBlock, std::min(kBlock, count - block * kBlock));
    }
  });
}

// Box-Muller, both of each pair and from 32 bits each: four times as fast as Random::normal, which counts at 25 million weights.
void draw_normal(Random& random, double deviation, float* out, int64_t count) {
  for (int64_t i = 0; i < count; i += 2) {
    const double radius = deviation * std::sqrt(-2 * std::log((random.bits() + 0.5) * 0x1p-32));
    const double angle = 2 * std::numbers::pi * 0x1p-32 * random.bits();
    out[i] = static_cast<float>(radius * std::cos(angle));
    if (i + 1 < count) out[i + 1] = static_cast<float>(radius * std::sin(angle));
  }
}

void draw_uniform(Random& random, double bound, float* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(random.uniform(-bound, bound));
}

}  // namespace

void fill_uniform(const at::Tensor& tensor, const RngKey& key, double bound) {
  fill(tensor, key, [bound](Random& random, float* out, int64_t n) { draw_uniform(random, bound, out, n); });
}

void initialise(torch::nn::Module& module, uint64_t seed, InitStream stream, ConvolutionWeights convolutions) {
  RngKey key = {.domain = RngDomain::kInit, .seed = seed, .step = static_cast<uint16_t>(stream)};

  const auto normal = [&key](const at::Tensor& tensor, double deviation) {
    fill(tensor, key, [deviation](Random& random, float* out, int64_t n) { draw_normal(random, deviation, out, n); });
    ++key.sample;
  };
  const auto uniform = [&key](const at::Tensor& tensor, int64_t fan_in) {
    const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
    if (tensor.defined()) fill(tensor, key, [bound](Random& random, float* out, int64_t n) { draw_uniform(random, bound, out, n); });
    ++key.sample;
  };

  const auto one = [&](torch::nn::Module& part) {
    if (auto* conv = part.as<torch::nn::Conv2dImpl>()) {
      const at::Tensor& weight = conv->weight;  // [out, in, k, k]
      const int64_t taps = weight.size(2) * weight.size(3);
      if (convolutions == ConvolutionWeights::kFanOutNormal) {
        normal(weight, std::sqrt(2.0 / static_cast<double>(taps * weight.size(0))));
      } else {
        uniform(weight, taps * weight.size(1));
      }
      uniform(conv->bias, taps * weight.size(1));
    } else if (auto* linear = part.as<torch::nn::LinearImpl>()) {
      uniform(linear->weight, linear->weight.size(1));
      uniform(linear->bias, linear->weight.size(1));
    } else if (auto* norm2d = part.as<torch::nn::BatchNorm2dImpl>()) {
      norm2d->reset_parameters();
    } else if (auto* norm1d = part.as<torch::nn::BatchNorm1dImpl>()) {
      norm1d->reset_parameters();
    }
  };
  one(module);  // by reference: a module under construction has no shared pointer yet, which modules(true) asks for
  for (const auto& child : module.modules(/*include_self=*/false)) one(*child);
}

}  // namespace debias
