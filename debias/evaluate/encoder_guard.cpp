#include "debias/evaluate/encoder_guard.h"

#include <ATen/ATen.h>

namespace debias {

EncoderGuard::EncoderGuard(Encoder& encoder) : encoder_(encoder), training_(encoder.is_training()) {
  for (const auto& module : encoder.modules(/*include_self=*/false)) modes_.emplace_back(module, module->is_training());
  for (const auto& buffer : encoder.buffers()) buffers_.emplace_back(buffer, buffer.detach().clone());
}

EncoderGuard::~EncoderGuard() {
  const at::NoGradGuard no_grad;
  for (auto& [buffer, copy] : buffers_) buffer.copy_(copy);
  encoder_.train(training_);  // recursive, hence before the submodules' own
  // modules() lists parents before children, so the last word on each module is its own.
  for (auto& [module, training] : modes_) module->train(training);
}

}  // namespace debias
