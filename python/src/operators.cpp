// The operators torch.ops.debias.*. Python's modules are generated over them; C++ programs need none of this.
//
// `objective` is what users call: value, per-anchor values and diagnostics, differentiable in z. It stands on `objective_with_gradient`, which
// is a plain function of tensors with shapes known beforehand and can therefore be traced and compiled: the gradient of a scalar is formed
// with it and only scaled on the way back. `anchor_losses` is the same before the mean; on the way back it is computed again, with the
// weights that the losses then have.
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <array>
#include <optional>
#include <tuple>
#include <utility>

#include "debias/core/error.h"
#include "python/src/objective_call.h"
#include "python/src/translated.h"

namespace debias {
namespace {

using OptionalTensor = std::optional<at::Tensor>;
using TwoTensors = std::tuple<at::Tensor, at::Tensor>;
using ThreeTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
using SixTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;
using CallPointer = c10::intrusive_ptr<ObjectiveCall>;

// What an operator is given beside z and the wanted gradients, in the order of DEBIAS_ARGUMENTS.
struct Given {
  std::string_view name, options;
  const OptionalTensor &labels, &bias, &weights, &prior, &ids, &keys, &key_labels, &key_ids, &positives;
  std::string_view engine;
  int64_t memory_budget;
  bool normalize;
};

CallPointer call_of(const at::Tensor& z, const Given& given) {
  auto call = c10::make_intrusive<ObjectiveCall>();
  call->name = given.name;
  call->options = given.options;
  ObjectiveInput& input = call->input;
  const c10::Device device = z.device();
  input.labels = integers(given.labels, "labels", device);
  input.bias = integers(given.bias, "bias", device);
  input.weights = given.weights.value_or(at::Tensor());
  input.prior = given.prior.value_or(at::Tensor());
  input.samples = integers(given.ids, "ids", device);
  input.keys = given.keys.value_or(at::Tensor());
  input.key_labels = integers(given.key_labels, "key_labels", device);
  input.key_samples = integers(given.key_ids, "key_ids", device);
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
  return {out.result.value, out.result.per_anchor, out.result.diagnostics, out.gradient, out.keys_gradient, out.positives_gradient};
}

ThreeTensors gradients(const ObjectiveGradient& out) { return {out.gradient, out.keys_gradient, out.positives_gradient}; }

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
    return tensors(evaluated_with_gradient(z, *call_of(z, DEBIAS_GIVEN), {with_gradient, keys_gradient, positives_gradient}));
  });
}

SixTensors objective_shapes(DEBIAS_PARAMETERS, bool with_gradient, bool keys_gradient, bool positives_gradient) {
  return translated([&] { return tensors(shapes_of(z, *call_of(z, DEBIAS_GIVEN), {with_gradient, keys_gradient, positives_gradient})); });
}

ThreeTensors anchor_losses_gradient(DEBIAS_PARAMETERS, const at::Tensor& of_losses, bool with_gradient, bool keys_gradient,
                                    bool positives_gradient) {
  return translated([&] {
    return gradients(evaluated_with_gradient(z, *call_of(z, DEBIAS_GIVEN), {with_gradient, keys_gradient, positives_gradient}, of_losses));
  });
}

ThreeTensors anchor_losses_gradient_shapes(DEBIAS_PARAMETERS, const at::Tensor&, bool with_gradient, bool keys_gradient,
                                           bool positives_gradient) {
  return translated([&] { return gradients(shapes_of(z, *call_of(z, DEBIAS_GIVEN), {with_gradient, keys_gradient, positives_gradient})); });
}

// Through the dispatcher, so that what is traced or compiled stays one step. `between`: the arguments of one operator alone.
template <class Operator, class... Between>
auto dispatched(const Operator& op, const at::Tensor& z, const ObjectiveCall& call, const Wanted& wanted, const Between&... between) {
  const auto& input = call.input;
  const auto given = [](const at::Tensor& tensor) { return tensor.defined() ? OptionalTensor(tensor) : std::nullopt; };
  return op.call(z, call.name, call.options, given(input.labels), given(input.bias), given(input.weights), given(input.prior),
                 given(input.samples), given(input.keys), given(input.key_labels), given(input.key_samples), given(input.positives),
                 enum_name(input.engine), input.memory_budget, call.normalize, between..., wanted.z, wanted.keys, wanted.positives);
}

SixTensors with_gradient_of(const at::Tensor& z, const ObjectiveCall& call, const Wanted& wanted) {
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("debias::objective_with_gradient", "").typed<decltype(objective_with_gradient)>();
  return dispatched(op, z, call, wanted);
}

ThreeTensors gradient_of_losses(const at::Tensor& z, const ObjectiveCall& call, const Wanted& wanted, const at::Tensor& of_losses) {
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("debias::anchor_losses_gradient", "").typed<decltype(anchor_losses_gradient)>();
  return dispatched(op, z, call, wanted, of_losses);
}

at::Tensor without_nan(const at::Tensor& losses) { return losses.where(losses.detach().isnan().logical_not(), 0); }

// To be differentiated again: the composition has the graph that a stored gradient lacks. `leaves`: z, keys and positives.
torch::autograd::variable_list differentiated(const torch::autograd::variable_list& leaves, const at::Tensor& output,
                                              const at::Tensor& grad) {
  torch::autograd::variable_list out(4), inputs;
  for (const auto& leaf : leaves) {
    if (leaf.requires_grad()) inputs.push_back(leaf);
  }
  const auto found = torch::autograd::grad({output}, inputs, {grad}, true, true);
  for (size_t i = 0, next = 0; i < leaves.size(); ++i) {
    if (leaves[i].requires_grad()) out[i] = found[next++];
  }
  return out;
}

// Keys and positives are empty where there are none: no tensor may be undefined here. A queue that asks for no gradient may be overwritten
// before the backward pass, and is therefore not among what is saved.
torch::autograd::variable_list leaves_of(const at::Tensor& z, const at::Tensor& keys, const at::Tensor& positives) {
  const at::Tensor nothing = at::empty({0}, z.options().requires_grad(false));
  return {z, keys.requires_grad() ? keys : nothing, positives.requires_grad() ? positives : nothing};
}

ObjectiveCall& call_in(torch::autograd::AutogradContext* context) {
  return *c10::static_intrusive_pointer_cast<ObjectiveCall>(context->saved_data["call"].toCapsule());
}

class DifferentiableObjective : public torch::autograd::Function<DifferentiableObjective> {
 public:
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context, const at::Tensor& z, const at::Tensor& keys,
                                                const at::Tensor& positives, const CallPointer& call) {
    const Wanted wanted = {z.requires_grad(), keys.requires_grad(), positives.requires_grad()};
    const auto [value, per_anchor, diagnostics, gradient, of_keys, of_positives] = with_gradient_of(z, *call, wanted);
    auto saved = leaves_of(z, keys, positives);
    saved.insert(saved.end(), {gradient, of_keys, of_positives});
    context->save_for_backward(saved);
    context->saved_data["call"] = at::IValue::make_capsule(call);
    context->mark_non_differentiable({per_anchor, diagnostics});
    return {value, per_anchor, diagnostics};
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context, const torch::autograd::variable_list& grads) {
    const auto saved = context->get_saved_variables();
    if (at::GradMode::is_enabled()) {
      return differentiated({saved[0], saved[1], saved[2]}, translated([&] { return evaluated(saved[0], call_in(context)).value; }),
                            grads[0]);
    }
    torch::autograd::variable_list out(4);
    for (size_t i = 0; i < 3; ++i) {
      if (saved[i].requires_grad()) out[i] = (saved[3 + i] * grads[0]).to(saved[i].scalar_type());
    }
    return out;
  }
};

class DifferentiableLosses : public torch::autograd::Function<DifferentiableLosses> {
 public:
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context, const at::Tensor& z, const at::Tensor& keys,
                                                const at::Tensor& positives, const CallPointer& call) {
    const auto [value, per_anchor, diagnostics, gradient, of_keys, of_positives] = with_gradient_of(z, *call, {false, false, false});
    // Computed again on the way back: from a queue as it is now, whatever becomes of it.
    if (call->input.keys.defined() && !keys.requires_grad()) call->input.keys = call->input.keys.clone();
    context->save_for_backward(leaves_of(z, keys, positives));
    context->saved_data["call"] = at::IValue::make_capsule(call);
    context->mark_non_differentiable({diagnostics});
    return {without_nan(per_anchor), diagnostics};
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context, const torch::autograd::variable_list& grads) {
    const auto leaves = context->get_saved_variables();
    const ObjectiveCall& call = call_in(context);
    if (at::GradMode::is_enabled()) {
      return differentiated(leaves, translated([&] { return without_nan(evaluated(leaves[0], call).per_anchor); }), grads[0]);
    }
    const Wanted wanted = {leaves[0].requires_grad(), leaves[1].requires_grad(), leaves[2].requires_grad()};
    const auto [of_z, of_keys, of_positives] = gradient_of_losses(leaves[0], call, wanted, grads[0]);
    torch::autograd::variable_list out(4);
    const std::array<at::Tensor, 3> found = {of_z, of_keys, of_positives};
    for (size_t i = 0; i < 3; ++i) {
      if (leaves[i].requires_grad()) out[i] = found[i].to(leaves[i].scalar_type());
    }
    return out;
  }
};

bool flows(const at::Tensor& z, const ObjectiveCall& call) {
  const auto asks = [](const at::Tensor& tensor) { return tensor.defined() && tensor.requires_grad(); };
  return at::GradMode::is_enabled() && (asks(z) || asks(call.input.keys) || asks(call.input.positives));
}

template <class Function>
torch::autograd::variable_list applied(const at::Tensor& z, const CallPointer& call) {
  const auto defined = [&](const at::Tensor& tensor) {
    return tensor.defined() ? tensor : at::empty({0}, z.options().requires_grad(false));
  };
  return Function::apply(z, defined(call->input.keys), defined(call->input.positives), call);
}

ThreeTensors objective(DEBIAS_PARAMETERS) {
  const auto call = translated([&] { return call_of(z, DEBIAS_GIVEN); });
  if (!flows(z, *call)) {
    const auto [value, per_anchor, diagnostics, gradient, of_keys, of_positives] = with_gradient_of(z, *call, {false, false, false});
    return {value, per_anchor, diagnostics};
  }
  const auto out = applied<DifferentiableObjective>(z, call);
  return {out[0], out[1], out[2]};
}

TwoTensors anchor_losses(DEBIAS_PARAMETERS) {
  const auto call = translated([&] { return call_of(z, DEBIAS_GIVEN); });
  if (!flows(z, *call)) {
    const auto [value, per_anchor, diagnostics, gradient, of_keys, of_positives] = with_gradient_of(z, *call, {false, false, false});
    return {without_nan(per_anchor), diagnostics};
  }
  const auto out = applied<DifferentiableLosses>(z, call);
  return {out[0], out[1]};
}

#define DEBIAS_ARGUMENTS                                                                                                     \
  "(Tensor z, str name, str options='{}', Tensor? labels=None, Tensor? bias=None, Tensor? weights=None, Tensor? prior=None," \
  " Tensor? ids=None, Tensor? keys=None, Tensor? key_labels=None, Tensor? key_ids=None, Tensor? positives=None,"             \
  " str engine='auto', int memory_budget=268435456, bool normalize=True"
#define DEBIAS_WANTED ", bool with_gradient=True, bool keys_gradient=False, bool positives_gradient=False) -> "
static_assert(kDefaultMemoryBudget == 268435456);

TORCH_LIBRARY(debias, m) {
  m.def("objective" DEBIAS_ARGUMENTS ") -> (Tensor value, Tensor per_anchor, Tensor diagnostics)", objective);
  m.def("anchor_losses" DEBIAS_ARGUMENTS ") -> (Tensor losses, Tensor diagnostics)", anchor_losses);
  m.def("objective_with_gradient" DEBIAS_ARGUMENTS DEBIAS_WANTED
        "(Tensor value, Tensor per_anchor, Tensor diagnostics, Tensor gradient, Tensor keys_gradient, Tensor positives_gradient)");
  m.def("anchor_losses_gradient" DEBIAS_ARGUMENTS ", *, Tensor of_losses" DEBIAS_WANTED
        "(Tensor gradient, Tensor keys_gradient, Tensor positives_gradient)");
  m.def("objective_table() -> str", [] { return objective_table(); });
  m.def("resolved_options(str name, str options='{}') -> str",
        [](std::string_view name, std::string_view options) { return translated([&] { return resolved_options(name, options); }); });
}

TORCH_LIBRARY_IMPL(debias, CompositeExplicitAutograd, m) {
  m.impl("objective_with_gradient", objective_with_gradient);
  m.impl("anchor_losses_gradient", anchor_losses_gradient);
}
TORCH_LIBRARY_IMPL(debias, Meta, m) {
  m.impl("objective_with_gradient", objective_shapes);
  m.impl("anchor_losses_gradient", anchor_losses_gradient_shapes);
}

}  // namespace
}  // namespace debias
