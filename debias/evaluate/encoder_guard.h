// An encoder that was lent for evaluation is handed back as it was.
//
// Constructed before a protocol switches the encoder's mode; destroyed, also by an exception, it puts back each submodule's mode and every
// buffer (BatchNorm's running averages, which change in train mode). Parameters are not saved: no protocol steps them.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <utility>
#include <vector>

#include "debias/encoders/encoder.h"

namespace debias {

class EncoderGuard {
 public:
  explicit EncoderGuard(Encoder& encoder);
  ~EncoderGuard();
  EncoderGuard(const EncoderGuard&) = delete;
  EncoderGuard& operator=(const EncoderGuard&) = delete;

 private:
  std::vector<std::pair<std::shared_ptr<torch::nn::Module>, bool>> modes_;
  std::vector<std::pair<at::Tensor, at::Tensor>> buffers_;  // the buffer, its copy
  Encoder& encoder_;
  bool training_;
};

}  // namespace debias
