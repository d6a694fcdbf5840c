#include "debias/optim/fused_adam.h"

#include <ATen/ATen.h>

#include "debias/optim/optimizer_entry.h"

namespace debias {
namespace {

using torch::optim::AdamParamState;
using Tensors = std::vector<at::Tensor>;

// The options and the parameters' states of torch::optim::Adam, and another step().
class FusedAdamRule final : public torch::optim::Adam {
 public:
  using Adam::Adam;

  torch::Tensor step(LossClosure closure = nullptr) override {
    torch::Tensor loss;
    if (closure) loss = closure();
    const at::NoGradGuard no_grad;
    for (auto& group : param_groups_) update(group.params(), static_cast<const torch::optim::AdamOptions&>(group.options()));
    return loss;
  }

 private:
  void update(const Tensors& all, const torch::optim::AdamOptions& options) {
    Tensors weights, gradients, means, mean_squares, steps;
    for (const auto& tensor : all) {
      if (!tensor.grad().defined()) continue;
      AdamParamState& state = state_of(tensor);
      state.step(state.step() + 1);
      weights.push_back(tensor);
      gradients.push_back(tensor.grad());
      means.push_back(state.exp_avg());
      mean_squares.push_back(state.exp_avg_sq());
      steps.push_back(at::scalar_tensor(state.step(), at::kFloat));
    }
    if (weights.empty()) return;
    const auto [beta1, beta2] = options.betas();
    at::_fused_adam_(weights, gradients, means, mean_squares, Tensors(), steps, options.lr(), beta1, beta2, options.weight_decay(),
                     options.eps(), /*amsgrad=*/false, /*maximize=*/false);
  }

  AdamParamState& state_of(const at::Tensor& tensor) {
    auto& slot = state_[tensor.unsafeGetTensorImpl()];
    if (slot == nullptr) {
      auto state = std::make_unique<AdamParamState>();
      state->exp_avg(at::zeros_like(tensor));
      state->exp_avg_sq(at::zeros_like(tensor));
      slot = std::move(state);
    }
    return static_cast<AdamParamState&>(*slot);
  }
};

}  // namespace

std::unique_ptr<Optimizer> make_fused_adam(std::vector<OptimizedParameter> parameters, const torch::optim::AdamOptions& options) {
  Tensors tensors;
  for (const auto& parameter : parameters) tensors.push_back(parameter.tensor);
  auto rule = std::make_unique<FusedAdamRule>(std::move(tensors), options);
  return std::make_unique<Optimizer>(std::move(rule), std::move(parameters), Clipping(), moments_format<AdamParamState>());
}

}  // namespace debias
