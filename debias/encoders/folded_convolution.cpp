#include "debias/encoders/folded_convolution.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/cpu/Utils.h>

#include <array>
#include <string>
#include <vector>

namespace debias {
namespace {

using Scalars = c10::List<std::optional<at::Scalar>>;

struct Operators {
  std::optional<c10::OperatorHandle> plain, with_sum;
};

// Of torch's compiler for the CPU; a build without oneDNN lacks them.
const Operators& operators() {
  static const Operators found = {c10::Dispatcher::singleton().findSchema({"mkldnn::_convolution_pointwise", ""}),
                                  c10::Dispatcher::singleton().findSchema({"mkldnn::_convolution_pointwise", "binary"})};
  return found;
}

at::ScalarType type_of(const at::Tensor& x) {
  return at::autocast::is_autocast_enabled(at::kCPU) ? at::autocast::get_autocast_dtype(at::kCPU) : x.scalar_type();
}

bool can_multiply(at::ScalarType type) { return type == at::kFloat || (type == at::kBFloat16 && at::cpu::is_avx512_vnni_supported()); }

bool applies(const torch::nn::Conv2dImpl& convolution, const torch::nn::BatchNorm2dImpl& norm, const at::Tensor& x) {
  const auto* padding = std::get_if<torch::ExpandingArray<2>>(&convolution.options.padding());
  return !norm.is_training() && !at::GradMode::is_enabled() && x.is_cpu() && x.numel() > 0 && can_multiply(type_of(x)) &&
         convolution.weight.scalar_type() == at::kFloat && !convolution.bias.defined() && norm.running_mean.defined() &&
         norm.weight.defined() && norm.weight.scalar_type() == at::kFloat && padding != nullptr &&
         at::globalContext().userEnabledMkldnn() && operators().plain && operators().with_sum;
}

std::vector<int64_t> numbers(const torch::ExpandingArray<2>& array) { return {array->begin(), array->end()}; }

enum class FoldedActivation { kNone, kRelu, kRelu6 };

std::pair<std::string, Scalars> attribute_of(FoldedActivation activation) {
  Scalars bounds;
  if (activation == FoldedActivation::kNone) return {"none", bounds};
  if (activation == FoldedActivation::kRelu) return {"relu", bounds};
  bounds.push_back(at::Scalar(0.0));
  bounds.push_back(at::Scalar(6.0));
  return {"hardtanh", bounds};
}

at::Tensor called(const c10::OperatorHandle& op, torch::jit::Stack arguments) {
  op.callBoxed(arguments);
  return std::move(arguments.front()).toTensor();
}

std::optional<at::Tensor> fold(const torch::nn::Conv2dImpl& convolution, const torch::nn::BatchNorm2dImpl& norm, const at::Tensor& x,
                               FoldedActivation activation, const at::Tensor& residual) {
  if (!applies(convolution, norm, x)) return std::nullopt;
  const at::ScalarType type = type_of(x);
  const auto& options = convolution.options;
  const at::Tensor scale = norm.weight / (norm.running_var + norm.options.eps()).sqrt_();
  const at::Tensor weight = (convolution.weight * scale.view({-1, 1, 1, 1})).to(type), input = x.to(type);
  const at::Tensor bias = (norm.bias - scale * norm.running_mean).to(type);
  const std::vector<int64_t> padding = numbers(std::get<torch::ExpandingArray<2>>(options.padding())), stride = numbers(options.stride()),
                             dilation = numbers(options.dilation());
  auto [attribute, bounds] = attribute_of(activation);
  if (!residual.defined()) {
    return called(*operators().plain,
                  {input, weight, bias, padding, stride, dilation, options.groups(), attribute, std::move(bounds), c10::IValue()});
  }
  const c10::IValue unary = activation == FoldedActivation::kNone ? c10::IValue() : c10::IValue(attribute);
  return called(*operators().with_sum, {input, residual.to(type), weight, bias, padding, stride, dilation, options.groups(), "add",
                                        c10::IValue(), unary, std::move(bounds), c10::IValue()});
}

}  // namespace

std::optional<at::Tensor> folded_convolution(const torch::nn::Conv2dImpl& convolution, const torch::nn::BatchNorm2dImpl& norm,
                                             const at::Tensor& x, const AfterNorm& after) {
  if (after.activation == Activation::kTanh) return std::nullopt;
  return fold(convolution, norm, x, after.activation ? FoldedActivation::kRelu : FoldedActivation::kNone, after.residual);
}

std::optional<at::Tensor> folded_convolution6(const torch::nn::Conv2dImpl& convolution, const torch::nn::BatchNorm2dImpl& norm,
                                              const at::Tensor& x) {
  return fold(convolution, norm, x, FoldedActivation::kRelu6, {});
}

at::Tensor normalised_convolution(torch::nn::Conv2d& convolution, torch::nn::BatchNorm2d& norm, const at::Tensor& x,
                                  const AfterNorm& after) {
  if (const auto folded = folded_convolution(*convolution, *norm, x, after)) return *folded;
  return normalised(*norm, convolution(x), after);
}

}  // namespace debias
