#include "debias/encoders/strided_convolution.h"

#include <ATen/ops/conv2d.h>

namespace debias {
namespace {

// oneDNN lays the kept pixels out in blocks of 8 (AVX2) or 16 (AVX-512) channels, in room for those that there are.
bool fills_blocks(int64_t channels) { return channels >= 16 && channels % 8 == 0; }

}  // namespace

torch::Tensor convolve(torch::nn::Conv2d& conv, const torch::Tensor& x) {
  const auto& weight = conv->weight;
  const int64_t step = conv->options.stride()->at(0);
  if (!x.is_cpu() || step == 1 || weight.size(2) != 1 || weight.size(3) != 1 || fills_blocks(weight.size(1))) return conv(x);
  return at::conv2d(x.slice(2, 0, std::nullopt, step).slice(3, 0, std::nullopt, step), weight, conv->bias);
}

}  // namespace debias
