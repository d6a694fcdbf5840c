// Convolutions whose gradient is safe to compute, with a stride and few channels, too.
#pragma once

#include <torch/nn/modules/conv.h>

namespace debias {

// conv(x). If oneDNN's weight gradient would write past its buffers (docs/decisions.md), a 1x1 convolution without padding takes the
// pixels that its stride keeps, which is the same sum.
torch::Tensor convolve(torch::nn::Conv2d& conv, const torch::Tensor& x);

}  // namespace debias
