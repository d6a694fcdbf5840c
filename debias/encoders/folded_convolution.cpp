#include "debias/encoders/folded_convolution.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/cpu/Utils.h>

#include <string>
#include <vector>

namespace debias {
namespace {

using Scalars = c10::List<std::optional<at::Scalar>>;

constexpr double kLargestSum = 1e38;  // below the largest float32 and bfloat16

struct Operators {
  std::optional<c10::OperatorHandle> plain, with_sum;
};

// Operators of torch's compiler for the CPU; a build without oneDNN lacks them.
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
         std::holds_alternative<torch::enumtype::kZeros>(convolution.options.padding_mode()) && at::globalContext().userEnabledMkldnn() &&
         operators().plain && operators().with_sum;
}

std::vector<int64_t> numbers(const torch::ExpandingArray<2>& array) { return {array->begin(), array->end()}; }

at::Tensor called(const c10::OperatorHandle& op, torch::jit::Stack arguments) {
  op.callBoxed(arguments);
  return std::move(arguments.front()).toTensor();
}

struct Folded {
  at::Tensor input, weight, bias;  // of one type
  c10::IValue padding, stride, dilation, groups;
};

Folded folded(const torch::nn::Conv2dImpl& convolution, const torch::nn::BatchNorm2dImpl& norm, const at::Tensor& x) {
  const at::ScalarType type = type_of(x);
  const auto& options = convolution.options;
  const at::Tensor scale = norm.weight / (norm.running_var + norm.options.eps()).sqrt_();
  return {x.to(type),
          (convolution.weight * scale.view({-1, 1, 1, 1})).to(type),
          (norm.bias - scale * norm.running_mean).to(type),
          numbers(std::get<torch::ExpandingArray<2>>(options.padding())),
          numbers(options.stride()),
          numbers(options.dilation()),
          options.groups()};
}

at::Tensor convolved(const Folded& all, const std::string& activation, const Scalars& bounds) {
  return called(*operators().plain,
                {all.input, all.weight, all.bias, all.padding, all.stride, all.dilation, all.groups, activation, bounds, c10::IValue()});
}

// Sums to whose terms nothing can be added that is not finite: oneDNN's bounds take NaN for the lower one.
bool stays_finite(const Folded& all) {
  const double largest = all.input.abs().max().item<double>(), weights = all.weight.abs().sum(at::kDouble).item<double>();
  return largest * weights + all.bias.abs().max().item<double>() < kLargestSum;
}

}  // namespace

std::optional<at::Tensor> folded_convolution(const torch::nn::Conv2dImpl& convolution, const torch::nn::BatchNorm2dImpl& norm,
                                             const at::Tensor& x, const AfterNorm& after) {
  if (after.activation == Activation::kTanh || !applies(convolution, norm, x)) return std::nullopt;
  const Folded all = folded(convolution, norm, x);
  at::Tensor y;
  if (after.residual.defined()) {
    y = called(*operators().with_sum, {all.input, after.residual.to(all.input.scalar_type()), all.weight, all.bias, all.padding, all.stride,
                                       all.dilation, all.groups, "add", c10::IValue(), c10::IValue(), Scalars(), c10::IValue()});
  } else {
    y = convolved(all, "none", Scalars());
  }
  return after.activation ? y.relu_() : y;  // by ATen, which keeps NaN
}

std::optional<at::Tensor> folded_convolution6(const torch::nn::Conv2dImpl& convolution, const torch::nn::BatchNorm2dImpl& norm,
                                              const at::Tensor& x) {
  if (!applies(convolution, norm, x)) return std::nullopt;
  const Folded all = folded(convolution, norm, x);
  if (!stays_finite(all)) return std::nullopt;
  Scalars bounds;
  bounds.push_back(at::Scalar(0.0));
  bounds.push_back(at::Scalar(6.0));
  return convolved(all, "hardtanh", bounds);
}

at::Tensor normalised_convolution(torch::nn::Conv2d& convolution, torch::nn::BatchNorm2d& norm, const at::Tensor& x,
                                  const AfterNorm& after) {
  if (const auto y = folded_convolution(*convolution, *norm, x, after)) return *y;
  return normalised(*norm, convolution(x), after);
}

Branches normalised_convolution_branches(torch::nn::Conv2d& convolution, torch::nn::BatchNorm2d& norm, const at::Tensor& x,
                                         const AfterNorm& after) {
  if (const auto y = folded_convolution(*convolution, *norm, x, after)) return {*y, *y};
  return normalised_branches(*norm, convolution(x), after);
}

}  // namespace debias
