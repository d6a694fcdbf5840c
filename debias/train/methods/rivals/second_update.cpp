#include "debias/train/methods/rivals/second_update.h"

#include <ATen/ATen.h>

#include <limits>
#include <vector>

#include "debias/core/error.h"

namespace debias {

void second_update(const Model& model, const Optimizers& optimizers, const at::Tensor& loss, const Batch& batch, const char* of) {
  optimizers.zero_grad();
  loss.backward();
  std::vector<at::Tensor> gradients;
  for (const auto& [name, parameter] : model.named_parameters()) {
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  }
  const at::Tensor largest = at::stack(at::_foreach_norm(gradients, std::numeric_limits<double>::infinity())).sum();
  if (!at::isfinite(loss.detach() + largest).item<bool>()) {
    optimizers.zero_grad();
    throw numeric_error(
        "training stopped at epoch {}, batch {}: the loss of the {} is {}, or its gradient is not finite; the evaluated network had been "
        "updated; lower the learning rate",
        batch.epoch + 1, batch.number, of, loss.item<double>());
  }
  optimizers.step();
  optimizers.zero_grad();
}

}  // namespace debias
