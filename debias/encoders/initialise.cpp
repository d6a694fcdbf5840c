#include "debias/encoders/initialise.h"

#include <ATen/Parallel.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <algorithm>
#include <cmath>

#include "debias/core/philox.h"

namespace debias {
namespace {

constexpr int64_t kBlock = 1024;  // numbers of one stream; blocks are drawn in parallel

template <class Draw>
void fill(at::Tensor tensor, RngKey key, Draw draw) {
  at::NoGradGuard no_grad;
  float* const data = tensor.data_ptr<float>();
  const int64_t count = tensor.numel();
  at::parallel_for(0, (count + kBlock - 1) / kBlock, 1, [&](int64_t first, int64_t last) {
    for (int64_t block = first; block < last; ++block) {
      RngKey block_key = key;
      block_key.occurrence = static_cast<uint32_t>(block);
      Random random(block_key);
      for (int64_t i = block * kBlock; i < std::min(count, (block + 1) * kBlock); ++i) data[i] = static_cast<float>(draw(random));
    }
  });
}

}  // namespace

void initialise(torch::nn::Module& module, uint64_t seed, InitStream stream) {
  RngKey key;
  key.domain = RngDomain::kInit;
  key.seed = seed;
  key.step = static_cast<uint16_t>(stream);

  const auto normal = [&key](const at::Tensor& tensor, double deviation) {
    fill(tensor, key, [deviation](Random& random) { return deviation * random.normal(); });
    ++key.sample;
  };
  const auto uniform = [&key](const at::Tensor& tensor, int64_t fan_in) {
    const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
    if (tensor.defined()) fill(tensor, key, [bound](Random& random) { return random.uniform(-bound, bound); });
    ++key.sample;
  };

  for (const auto& child : module.modules(false)) {
    if (auto* conv = child->as<torch::nn::Conv2dImpl>()) {
      const at::Tensor& weight = conv->weight;  // [out, in, k, k]
      const int64_t taps = weight.size(2) * weight.size(3);
      normal(weight, std::sqrt(2.0 / static_cast<double>(taps * weight.size(0))));
      uniform(conv->bias, taps * weight.size(1));
    } else if (auto* linear = child->as<torch::nn::LinearImpl>()) {
      uniform(linear->weight, linear->weight.size(1));
      uniform(linear->bias, linear->weight.size(1));
    } else if (auto* norm2d = child->as<torch::nn::BatchNorm2dImpl>()) {
      norm2d->reset_parameters();
    } else if (auto* norm1d = child->as<torch::nn::BatchNorm1dImpl>()) {
      norm1d->reset_parameters();
    }
  }
}

}  // namespace debias
