#include "debias/loader/batch.h"

#include <stdexcept>

namespace debias {

const at::Tensor& Batch::input(std::string_view name) const {
  for (const auto& [given, tensor] : inputs) {
    if (given == name) return tensor;
  }
  throw std::logic_error("a batch without '" + std::string(name) + "'");
}

}  // namespace debias
