#include "debias/optim/fused_rules.h"

#include <ATen/ATen.h>
#include <c10/util/TypeCast.h>

#include <map>
#include <string>
#include <type_traits>

#include "debias/core/options.h"
#include "debias/optim/optimizer_entry.h"

namespace debias {
namespace {

namespace rules = torch::optim;
using TensorList = std::vector<at::Tensor>;

// The kernels cast without a look, where the operators one by one throw.
void require_fits(const TensorList& weights, std::initializer_list<double> numbers) {
  if (weights.front().scalar_type() == at::kDouble) return;
  for (const double number : numbers) c10::checked_convert<float, double>(number, "float");
}

// The kernels walk over all tensors of a parameter in the order of memory.
at::Tensor laid_out_as(const at::Tensor& weights, const at::Tensor& gradient) {
  return gradient.strides() == weights.strides() ? gradient : at::empty_like(weights).copy_(gradient);
}

void call(const rules::AdamOptions& options, const TensorList& weights, const TensorList& gradients, const TensorList& means,
          const TensorList& squares, const TensorList& steps) {
  at::_fused_adam_(weights, gradients, means, squares, TensorList(), steps, options.lr(), std::get<0>(options.betas()),
                   std::get<1>(options.betas()), options.weight_decay(), options.eps(), /*amsgrad=*/false, /*maximize=*/false);
}
void call(const rules::AdamWOptions& options, const TensorList& weights, const TensorList& gradients, const TensorList& means,
          const TensorList& squares, const TensorList& steps) {
  at::_fused_adamw_(weights, gradients, means, squares, TensorList(), steps, options.lr(), std::get<0>(options.betas()),
                    std::get<1>(options.betas()), options.weight_decay(), options.eps(), /*amsgrad=*/false, /*maximize=*/false);
}

template <class Rule, class Options, class State>
class FusedMoments final : public Rule {
 public:
  FusedMoments(const ParameterGroups& groups, const Options& defaults) : Rule(groups, defaults) {}

  torch::Tensor step(rules::Optimizer::LossClosure closure = nullptr) override {
    torch::Tensor loss;
    if (closure) loss = closure();
    const at::NoGradGuard no_grad;
    for (auto& group : this->param_groups_) update(group.params(), static_cast<const Options&>(group.options()));
    return loss;
  }

 private:
  struct Lists {
    TensorList weights, gradients, means, squares;
  };

  void update(const TensorList& all, const Options& options) {
    std::map<int64_t, Lists> by_step;  // one, but for parameters that had no gradient at some step
    for (const auto& tensor : all) {
      if (!tensor.grad().defined()) continue;
      State& state = state_of(tensor);
      state.step(state.step() + 1);
      Lists& lists = by_step[state.step()];
      lists.weights.push_back(tensor);
      lists.gradients.push_back(laid_out_as(tensor, tensor.grad()));
      lists.means.push_back(state.exp_avg());
      lists.squares.push_back(state.exp_avg_sq());
    }
    for (const auto& [step, lists] : by_step) {
      require_fits(lists.weights, {options.lr(), options.weight_decay(), options.lr() * options.weight_decay(), options.eps()});
      const at::Tensor number = at::full({}, step, lists.weights.front().options().dtype(at::kFloat));
      call(options, lists.weights, lists.gradients, lists.means, lists.squares, TensorList(lists.weights.size(), number));
    }
  }

  State& state_of(const at::Tensor& tensor) {
    auto& slot = this->state_[tensor.unsafeGetTensorImpl()];
    if (slot == nullptr) {
      auto state = std::make_unique<State>();
      state->exp_avg(at::zeros_like(tensor));
      state->exp_avg_sq(at::zeros_like(tensor));
      slot = std::move(state);
    }
    return static_cast<State&>(*slot);
  }
};

class FusedSgd final : public rules::SGD {
 public:
  FusedSgd(const ParameterGroups& groups, const rules::SGDOptions& defaults) : SGD(groups, defaults) {}

  torch::Tensor step(LossClosure closure = nullptr) override {
    torch::Tensor loss;
    if (closure) loss = closure();
    const at::NoGradGuard no_grad;
    for (auto& group : param_groups_) update(group.params(), static_cast<const rules::SGDOptions&>(group.options()));
    return loss;
  }

 private:
  void update(const TensorList& all, const rules::SGDOptions& options) {
    TensorList weights, gradients, buffers;
    for (const auto& tensor : all) {
      if (!tensor.grad().defined()) continue;
      weights.push_back(tensor);
      gradients.push_back(laid_out_as(tensor, tensor.grad()));
      if (options.momentum() != 0) buffers.push_back(momentum_buffer(state_, tensor));
    }
    if (weights.empty()) return;
    require_fits(weights, {options.lr(), options.weight_decay()});
    // A buffer of zeros takes the first gradient as rules::SGD does, whose first buffer is a copy of it.
    at::_fused_sgd_(weights, gradients, buffers, options.weight_decay(), options.momentum(), options.lr(), /*dampening=*/0,
                    options.nesterov(), /*maximize=*/false, /*is_first_step=*/false);
  }
};

}  // namespace

at::Tensor& momentum_buffer(StatesOfParameters& states, const at::Tensor& weights) {
  auto& slot = states[weights.unsafeGetTensorImpl()];
  if (slot == nullptr) {
    slot = std::make_unique<rules::SGDParamState>();
    static_cast<rules::SGDParamState&>(*slot).momentum_buffer(at::zeros_like(weights));
  }
  return static_cast<rules::SGDParamState&>(*slot).momentum_buffer();
}

std::unique_ptr<rules::Optimizer> fused_adam(const ParameterGroups& groups, const rules::AdamOptions& defaults) {
  return make_rule<FusedMoments<rules::Adam, rules::AdamOptions, rules::AdamParamState>>(groups, defaults);
}

std::unique_ptr<rules::Optimizer> fused_adamw(const ParameterGroups& groups, const rules::AdamWOptions& defaults) {
  return make_rule<FusedMoments<rules::AdamW, rules::AdamWOptions, rules::AdamWParamState>>(groups, defaults);
}

std::unique_ptr<rules::Optimizer> fused_sgd(const ParameterGroups& groups, const rules::SGDOptions& defaults) {
  return make_rule<FusedSgd>(groups, defaults);
}

std::unique_ptr<Optimizer> make_adam(std::vector<OptimizedParameter> parameters, const rules::AdamOptions& options) {
  auto rule = fused_adam(groups_by_kind(parameters, [&options](ParameterKind) { return options; }), options);
  return std::make_unique<Optimizer>(std::move(rule), std::move(parameters), Clipping(), moments_format<rules::AdamParamState>());
}

namespace {

// Common options of Adam and AdamW.
struct AdamMomentOptions {
  double learning_rate = 1e-3;
  std::vector<double> betas = {0.9, 0.999};
  double eps = 1e-8;
  void describe(OptionVisitor& o) {
    o("learning_rate", learning_rate, Range::at_least(0), "learning rate before the schedule is applied");
    o("betas", betas, Range::half_open(0, 1), "decay of the running means of the gradient and of its square");
    o("eps", eps, Range::above(0), "added to the root of the mean square");
    o.check([this](const std::string& what) {
      if (betas.size() != 2) throw usage_error("{}: betas: expected two numbers, found {}", what, betas.size());
    });
  }

  template <class TorchOptions>
  TorchOptions torch_options() const {
    return TorchOptions(learning_rate).betas({betas[0], betas[1]}).eps(eps);
  }
};

// Of AdamW where the weight decay is decoupled, else of Adam.
template <bool kDecoupled>
struct AdamOptions : AdamMomentOptions, CommonOptimizerOptions {
  double weight_decay = kDecoupled ? 0.01 : 0;

  void describe(OptionVisitor& o) {
    AdamMomentOptions::describe(o);
    o("weight_decay", weight_decay, Range::at_least(0),
      kDecoupled ? "decoupled weight decay: multiplies weights and learning rate, and is subtracted from the weights"
                 : "L2 penalty: multiplies the weights and is added to the gradient");
    CommonOptimizerOptions::describe(o);
  }

  std::unique_ptr<torch::optim::Optimizer> rule(const std::vector<OptimizedParameter>& parameters) const {
    using Torch = std::conditional_t<kDecoupled, torch::optim::AdamWOptions, torch::optim::AdamOptions>;
    const auto options_of = [this](ParameterKind kind) {
      return torch_options<Torch>().weight_decay(holds(no_decay, kind) ? 0 : weight_decay);
    };
    const auto groups = groups_by_kind(parameters, options_of);
    if constexpr (kDecoupled) {
      return fused_adamw(groups, options_of(ParameterKind::kWeight));
    } else {
      return fused_adam(groups, options_of(ParameterKind::kWeight));
    }
  }
};

}  // namespace

ChosenOptimizer adam_optimizer(double learning_rate, double weight_decay) {
  AdamOptions<false> options;
  options.weight_decay = weight_decay;
  options.learning_rate = learning_rate;
  return chosen_optimizer("adam", options, moments_format<torch::optim::AdamParamState>());
}

OptimizerEntry adam_entry() {
  return optimizer_entry<AdamOptions<false>>("adam", "Adam (Kingma and Ba 2015); weight decay is L2, not decoupled",
                                             moments_format<torch::optim::AdamParamState>());
}

OptimizerEntry adamw_entry() {
  return optimizer_entry<AdamOptions<true>>("adamw", "Adam with decoupled weight decay (Loshchilov and Hutter 2019)",
                                            moments_format<torch::optim::AdamWParamState>());
}

}  // namespace debias
