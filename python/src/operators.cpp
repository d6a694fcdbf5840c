// The operators torch.ops.debias.*. Python's modules are generated over them; C++ programs need none of this.
//
// `objective` is what users call: value, per-anchor values and evidence, differentiable in z. It stands on `objective_with_gradient`, which
// is a plain function of tensors with shapes known beforehand and can therefore be traced and compiled: the gradient of a scalar is formed
// with it and only scaled on the way back.
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <tuple>
#include <utility>

#include "debias/core/error.h"
#include "python/src/objective_call.h"

namespace debias {
namespace {

using OptionalTensor = std::optional<at::Tensor>;
using ThreeTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
using FourTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;
using CallPointer = c10::intrusive_ptr<ObjectiveCall>;

// Python sees ValueError where the caller's options or data are refused, RuntimeError elsewhere, with the same words.
template <class Function>
auto translated(const Function& function) {
  try {
    return function();
  } catch (const Error& error) {
    const bool callers = error.kind() == ErrorKind::kUsage || error.kind() == ErrorKind::kData;
    if (callers) C10_THROW_ERROR(ValueError, error.what());
    C10_THROW_ERROR(Error, error.what());
  }
}

at::Tensor keys(const OptionalTensor& tensor, const char* what) {
  if (!tensor || !tensor->defined()) return {};
  if (!at::isIntegralType(tensor->scalar_type(), true)) {
    throw data_error("{}: expected integers, found {}; give class indices", what, c10::toString(tensor->scalar_type()));
  }
  return tensor->to(at::kLong);
}

CallPointer call_of(std::string_view name, std::string_view options, const OptionalTensor& labels, const OptionalTensor& bias,
                    const OptionalTensor& weights, const OptionalTensor& prior, std::string_view engine, int64_t memory_budget,
                    bool normalize) {
  auto call = c10::make_intrusive<ObjectiveCall>();
  call->name = name;
  call->options = options;
  call->input.labels = keys(labels, "labels");
  call->input.bias = keys(bias, "bias");
  call->input.weights = weights.value_or(at::Tensor());
  call->input.prior = prior.value_or(at::Tensor());
  call->input.engine = options_detail::Field<Engine>::parse(Config::scalar(std::string(engine)), Range::any(), "engine");
  if (memory_budget < 0) throw usage_error("memory_budget: expected bytes, at least 0, found {}", memory_budget);
  call->input.memory_budget = memory_budget;
  call->normalize = normalize;
  return call;
}

FourTensors tensors(const ObjectiveGradient& out) { return {out.result.value, out.result.per_anchor, out.result.evidence, out.gradient}; }

FourTensors objective_with_gradient(const at::Tensor& z, std::string_view name, std::string_view options, const OptionalTensor& labels,
                                    const OptionalTensor& bias, const OptionalTensor& weights, const OptionalTensor& prior,
                                    std::string_view engine, int64_t memory_budget, bool normalize, bool with_gradient) {
  return translated([&] {
    const auto call = call_of(name, options, labels, bias, weights, prior, engine, memory_budget, normalize);
    return tensors(evaluated_with_gradient(z, *call, with_gradient));
  });
}

FourTensors objective_shapes(const at::Tensor& z, std::string_view name, std::string_view options, const OptionalTensor& labels,
                             const OptionalTensor& bias, const OptionalTensor& weights, const OptionalTensor& prior,
                             std::string_view engine, int64_t memory_budget, bool normalize, bool with_gradient) {
  return translated([&] {
    const auto call = call_of(name, options, labels, bias, weights, prior, engine, memory_budget, normalize);
    return tensors(shapes_of(z, *call, with_gradient));
  });
}

FourTensors dispatched(const at::Tensor& z, const ObjectiveCall& call, bool with_gradient) {
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("debias::objective_with_gradient", "").typed<decltype(objective_with_gradient)>();
  const auto& input = call.input;
  const auto given = [](const at::Tensor& tensor) { return tensor.defined() ? OptionalTensor(tensor) : std::nullopt; };
  return op.call(z, call.name, call.options, given(input.labels), given(input.bias), given(input.weights), given(input.prior),
                 enum_name(input.engine), input.memory_budget, call.normalize, with_gradient);
}

class DifferentiableObjective : public torch::autograd::Function<DifferentiableObjective> {
 public:
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context, const at::Tensor& z, const CallPointer& call) {
    const auto [value, per_anchor, evidence, gradient] = dispatched(z, *call, true);
    context->save_for_backward({z, gradient});
    context->saved_data["call"] = at::IValue::make_capsule(call);
    context->mark_non_differentiable({per_anchor, evidence});
    return {value, per_anchor, evidence};
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context, const torch::autograd::variable_list& grads) {
    const auto saved = context->get_saved_variables();
    const at::Tensor& z = saved[0];
    if (at::GradMode::is_enabled()) {  // to be differentiated again: the composition has the graph that a stored gradient lacks
      const auto call = c10::static_intrusive_pointer_cast<ObjectiveCall>(context->saved_data["call"].toCapsule());
      const at::Tensor value = translated([&] { return evaluated(z, *call).value; });
      return {torch::autograd::grad({value}, {z}, {grads[0]}, true, true)[0], at::Tensor()};
    }
    return {(saved[1] * grads[0]).to(z.scalar_type()), at::Tensor()};
  }
};

ThreeTensors objective(const at::Tensor& z, std::string_view name, std::string_view options, const OptionalTensor& labels,
                       const OptionalTensor& bias, const OptionalTensor& weights, const OptionalTensor& prior, std::string_view engine,
                       int64_t memory_budget, bool normalize) {
  const auto call = translated([&] { return call_of(name, options, labels, bias, weights, prior, engine, memory_budget, normalize); });
  if (!z.requires_grad() || !at::GradMode::is_enabled()) {
    const auto [value, per_anchor, evidence, unused] = dispatched(z, *call, false);
    return {value, per_anchor, evidence};
  }
  const auto out = DifferentiableObjective::apply(z, call);
  return {out[0], out[1], out[2]};
}

#define DEBIAS_ARGUMENTS                                                                                                     \
  "(Tensor z, str name, str options='{}', Tensor? labels=None, Tensor? bias=None, Tensor? weights=None, Tensor? prior=None," \
  " str engine='auto', int memory_budget=268435456, bool normalize=True"
static_assert(kDefaultMemoryBudget == 268435456);

TORCH_LIBRARY(debias, m) {
  m.def("objective" DEBIAS_ARGUMENTS ") -> (Tensor value, Tensor per_anchor, Tensor evidence)", objective);
  m.def("objective_with_gradient" DEBIAS_ARGUMENTS
        ", bool with_gradient=True) -> (Tensor value, Tensor per_anchor, Tensor evidence, Tensor gradient)");
  m.def("objective_table() -> str", [] { return objective_table(); });
  m.def("resolved_options(str name, str options='{}') -> str",
        [](std::string_view name, std::string_view options) { return translated([&] { return resolved_options(name, options); }); });
}

TORCH_LIBRARY_IMPL(debias, CompositeExplicitAutograd, m) { m.impl("objective_with_gradient", objective_with_gradient); }
TORCH_LIBRARY_IMPL(debias, Meta, m) { m.impl("objective_with_gradient", objective_shapes); }

}  // namespace
}  // namespace debias
