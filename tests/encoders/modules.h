// What tests of networks ask of a module, and one thread for tiny tensors, where a second one only waits, and long on a busy machine.
#pragma once

#include <ATen/Parallel.h>

#include <cstdint>
#include <map>
#include <string>

#include "debias/encoders/state.h"

namespace debias {

class OneThread {
 public:
  OneThread() { at::set_num_threads(1); }
  ~OneThread() { at::set_num_threads(before_); }

 private:
  const int before_ = at::get_num_threads();
};

inline int64_t parameter_count(const torch::nn::Module& module) {
  int64_t total = 0;
  for (const auto& parameter : module.parameters()) total += parameter.numel();
  return total;
}

// Parameters and buffers by name, which follow the module.
inline std::map<std::string, at::Tensor> state_of(const torch::nn::Module& module) {
  std::map<std::string, at::Tensor> state;
  for (const auto& [name, tensor] : named_state(module)) state[name] = tensor.detach();
  return state;
}

inline std::map<std::string, at::Tensor> copied_state(const torch::nn::Module& module) {
  auto state = state_of(module);
  for (auto& [name, tensor] : state) tensor = tensor.clone();
  return state;
}

}  // namespace debias
