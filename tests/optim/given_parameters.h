// Tensors as an optimizer takes them: named by their number, of the kinds given or else weights.
#pragma once

#include <string>
#include <vector>

#include "debias/optim/optimizer.h"

namespace debias {

inline std::vector<OptimizedParameter> given_parameters(const std::vector<torch::Tensor>& tensors,
                                                        const std::vector<ParameterKind>& kinds = {}) {
  std::vector<OptimizedParameter> parameters;
  for (size_t i = 0; i < tensors.size(); ++i) {
    parameters.push_back({std::to_string(i), tensors[i], i < kinds.size() ? kinds[i] : ParameterKind::kWeight});
  }
  return parameters;
}

}  // namespace debias
