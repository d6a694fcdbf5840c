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
using SixTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;
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

at::Tensor integers(const OptionalTensor& tensor, const char* what) {
  if (!tensor || !tensor->defined()) return {};
  if (!at::isIntegralType(tensor->scalar_type(), true)) {
    throw data_error("{}: expected integers, found {}; give class indices", what, c10::toString(tensor->scalar_type()));
  }
  return tensor->to(at::kLong);
}

// What an operator is given beside z and the wanted gradients, in the order of DEBIAS_ARGUMENTS.
struct Given {
  std::string_view name, options;
  const OptionalTensor &labels, &bias, &weights, &prior, &ids, &keys, &key_labels, &key_ids, &positives;
  std::string_view engine;
  int64_t memory_budget;
  bool normalize;
};

CallPointer call_of(const Given& given) {
  auto call = c10::make_intrusive<ObjectiveCall>();
  call->name = given.name;
  call->options = given.options;
  ObjectiveInput& input = call->input;
  input.labels = integers(given.labels, "labels");
  input.bias = integers(given.bias, "bias");
  input.weights = given.weights.value_or(at::Tensor());
  input.prior = given.prior.value_or(at::Tensor());
  input.samples = integers(given.ids, "ids");
  input.keys = given.keys.value_or(at::Tensor());
  input.key_labels = integers(given.key_labels, "key_labels");
  input.key_samples = integers(given.key_ids, "key_ids");
  if (input.key_samples.defined() && !input.samples.defined()) {
    throw usage_error("key_ids are compared with the samples' own ids, and none are given; add ids=");
  }
  input.positives = given.positives.value_or(at::Tensor());
  input.engine = options_detail::Field<Engine>::parse(Config::scalar(std::string(given.engine)), Range::any(), "engine");
  if (given.memory_budget < 0) throw usage_error("memory_budget: expected bytes, at least 0, found {}", given.memory_budget);
  input.memory_budget = given.memory_budget;
  call->normalize = given.normalize;
  return call;
}

SixTensors tensors(const ObjectiveGradient& out) {
  return {out.result.value, out.result.per_anchor, out.result.evidence, out.gradient, out.keys_gradient, out.positives_gradient};
}

// Operators want their arguments one by one.
#define DEBIAS_PARAMETERS                                                                                                         \
  const at::Tensor &z, std::string_view name, std::string_view options, const OptionalTensor &labels, const OptionalTensor &bias, \
      const OptionalTensor &weights, const OptionalTensor &prior, const OptionalTensor &ids, const OptionalTensor &keys,          \
      const OptionalTensor &key_labels, const OptionalTensor &key_ids, const OptionalTensor &positives, std::string_view engine,  \
      int64_t memory_budget, bool normalize
#define DEBIAS_GIVEN \
  Given { name, options, labels, bias, weights, prior, ids, keys, key_labels, key_ids, positives, engine, memory_budget, normalize }

SixTensors objective_with_gradient(DEBIAS_PARAMETERS, bool with_gradient, bool keys_gradient, bool positives_gradient) {
  return translated([&] {
    return tensors(evaluated_with_gradient(z, *call_of(DEBIAS_GIVEN), {with_gradient, keys_gradient, positives_gradient}));
  });
}

SixTensors objective_shapes(DEBIAS_PARAMETERS, bool with_gradient, bool keys_gradient, bool positives_gradient) {
  return translated([&] { return tensors(shapes_of(z, *call_of(DEBIAS_GIVEN), {with_gradient, keys_gradient, positives_gradient})); });
}

SixTensors dispatched(const at::Tensor& z, const ObjectiveCall& call, const Wanted& wanted) {
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("debias::objective_with_gradient", "").typed<decltype(objective_with_gradient)>();
  const auto& input = call.input;
  const auto given = [](const at::Tensor& tensor) { return tensor.defined() ? OptionalTensor(tensor) : std::nullopt; };
  return op.call(z, call.name, call.options, given(input.labels), given(input.bias), given(input.weights), given(input.prior),
                 given(input.samples), given(input.keys), given(input.key_labels), given(input.key_samples), given(input.positives),
                 enum_name(input.engine), input.memory_budget, call.normalize, wanted.z, wanted.keys, wanted.positives);
}

class DifferentiableObjective : public torch::autograd::Function<DifferentiableObjective> {
 public:
  // Keys and positives are empty where there are none: no tensor may be undefined here.
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context, const at::Tensor& z, const at::Tensor& keys,
                                                const at::Tensor& positives, const CallPointer& call) {
    const Wanted wanted = {z.requires_grad(), keys.requires_grad(), positives.requires_grad()};
    const auto [value, per_anchor, evidence, gradient, of_keys, of_positives] = dispatched(z, *call, wanted);
    // A queue that asks for no gradient may be overwritten before the backward pass.
    const at::Tensor nothing = at::empty({0}, z.options().requires_grad(false));
    context->save_for_backward({z, wanted.keys ? keys : nothing, wanted.positives ? positives : nothing, gradient, of_keys, of_positives});
    context->saved_data["call"] = at::IValue::make_capsule(call);
    context->mark_non_differentiable({per_anchor, evidence});
    return {value, per_anchor, evidence};
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context, const torch::autograd::variable_list& grads) {
    const auto saved = context->get_saved_variables();
    torch::autograd::variable_list out(4);
    if (at::GradMode::is_enabled()) {  // to be differentiated again: the composition has the graph that a stored gradient lacks
      const auto call = c10::static_intrusive_pointer_cast<ObjectiveCall>(context->saved_data["call"].toCapsule());
      const at::Tensor value = translated([&] { return evaluated(saved[0], *call).value; });
      torch::autograd::variable_list inputs;
      for (size_t i = 0; i < 3; ++i) {
        if (saved[i].requires_grad()) inputs.push_back(saved[i]);
      }
      const auto found = torch::autograd::grad({value}, inputs, {grads[0]}, true, true);
      for (size_t i = 0, next = 0; i < 3; ++i) {
        if (saved[i].requires_grad()) out[i] = found[next++];
      }
      return out;
    }
    for (size_t i = 0; i < 3; ++i) {
      if (saved[i].requires_grad()) out[i] = (saved[3 + i] * grads[0]).to(saved[i].scalar_type());
    }
    return out;
  }
};

ThreeTensors objective(DEBIAS_PARAMETERS) {
  const auto call = translated([&] { return call_of(DEBIAS_GIVEN); });
  const auto& input = call->input;
  const auto flows = [](const at::Tensor& tensor) { return tensor.defined() && tensor.requires_grad(); };
  if (!at::GradMode::is_enabled() || !(flows(z) || flows(input.keys) || flows(input.positives))) {
    const auto [value, per_anchor, evidence, gradient, of_keys, of_positives] = dispatched(z, *call, {false, false, false});
    return {value, per_anchor, evidence};
  }
  const auto defined = [&](const at::Tensor& tensor) {
    return tensor.defined() ? tensor : at::empty({0}, z.options().requires_grad(false));
  };
  const auto out = DifferentiableObjective::apply(z, defined(input.keys), defined(input.positives), call);
  return {out[0], out[1], out[2]};
}

#define DEBIAS_ARGUMENTS                                                                                                     \
  "(Tensor z, str name, str options='{}', Tensor? labels=None, Tensor? bias=None, Tensor? weights=None, Tensor? prior=None," \
  " Tensor? ids=None, Tensor? keys=None, Tensor? key_labels=None, Tensor? key_ids=None, Tensor? positives=None,"             \
  " str engine='auto', int memory_budget=268435456, bool normalize=True"
static_assert(kDefaultMemoryBudget == 268435456);

TORCH_LIBRARY(debias, m) {
  m.def("objective" DEBIAS_ARGUMENTS ") -> (Tensor value, Tensor per_anchor, Tensor evidence)", objective);
  m.def("objective_with_gradient" DEBIAS_ARGUMENTS
        ", bool with_gradient=True, bool keys_gradient=False, bool positives_gradient=False) -> (Tensor value, Tensor per_anchor, Tensor "
        "evidence, Tensor gradient, Tensor keys_gradient, Tensor positives_gradient)");
  m.def("objective_table() -> str", [] { return objective_table(); });
  m.def("resolved_options(str name, str options='{}') -> str",
        [](std::string_view name, std::string_view options) { return translated([&] { return resolved_options(name, options); }); });
}

TORCH_LIBRARY_IMPL(debias, CompositeExplicitAutograd, m) { m.impl("objective_with_gradient", objective_with_gradient); }
TORCH_LIBRARY_IMPL(debias, Meta, m) { m.impl("objective_with_gradient", objective_shapes); }

}  // namespace
}  // namespace debias
