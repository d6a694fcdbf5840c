// Initial weights as a function of a seed: whatever was drawn before, on any number of threads, the same weights.
//
//   convolution weights   N(0, 2 / (k h * k w * out channels))      (Kaiming normal, fan out, ReLU: He et al. 2015, eq. 14), or
//                         torch's own, U(-1/sqrt(fan in), 1/sqrt(fan in))
//   linear weights, and biases of linear layers and convolutions
//                         U(-1/sqrt(fan in), 1/sqrt(fan in))
//   batch normalisation   weight 1, bias 0, running mean 0, running variance 1
#pragma once

#include <torch/nn/module.h>

#include <cstdint>

#include "debias/core/philox.h"

namespace debias {

// Modules that share a seed draw from different streams, so that no two of them start with the same numbers.
enum class InitStream : uint16_t { kEncoder = 0, kHead = 1, kClassifier = 2 };

enum class ConvolutionWeights { kFanOutNormal, kFanInUniform };

// Fills every float32 convolution, linear layer and batch normalisation within `module`, which is on the CPU.
void initialise(torch::nn::Module& module, uint64_t seed, InitStream stream,
                ConvolutionWeights convolutions = ConvolutionWeights::kFanOutNormal);

// Fills `tensor` (float32, contiguous, on the CPU) with U(-bound, bound), as a function of the key.
void fill_uniform(const at::Tensor& tensor, const RngKey& key, double bound);

}  // namespace debias
