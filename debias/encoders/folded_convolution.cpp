#include "debias/encoders/folded_convolution.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/cpu/Utils.h>
#include <ATen/ops/_nnpack_available.h>
#include <ATen/ops/_nnpack_spatial_convolution.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/convolution_backward.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace debias {

// What oneDNN's call takes of a layer.
struct FoldedLayer {
  at::Tensor weight, bias;  // of one type
  c10::IValue padding, stride, dilation, groups;
  double gain, offset;  // the largest |y| is at most gain |x| + offset

  double bound(double input) const { return gain * input + offset; }
};

struct PackedLinear {
  at::Tensor weight, bias;  // of one type
};

struct KeptWeights::Table {
  std::map<std::pair<const void*, at::ScalarType>, FoldedLayer> layers;
  std::map<std::pair<const void*, at::ScalarType>, PackedLinear> linears;
};

namespace {

thread_local KeptWeights::Table* kept = nullptr;

using Scalars = c10::List<std::optional<at::Scalar>>;

constexpr double kLargestSum = 1e38;      // below the largest float32 and bfloat16
constexpr double kRoundingFactor = 1.02;  // of a sum in bfloat16 over its bound

struct Operators {
  std::optional<c10::OperatorHandle> plain, with_sum, packed, linear, packed_linear;
};

// Operators of torch's compiler for the CPU; a build without oneDNN lacks them.
const Operators& operators() {
  static const Operators found = {c10::Dispatcher::singleton().findSchema({"mkldnn::_convolution_pointwise", ""}),
                                  c10::Dispatcher::singleton().findSchema({"mkldnn::_convolution_pointwise", "binary"}),
                                  c10::Dispatcher::singleton().findSchema({"mkldnn::_reorder_convolution_weight", ""}),
                                  c10::Dispatcher::singleton().findSchema({"mkldnn::_linear_pointwise", ""}),
                                  c10::Dispatcher::singleton().findSchema({"mkldnn::_reorder_linear_weight", ""})};
  return found;
}

at::ScalarType type_of(const at::Tensor& x) {
  return at::autocast::is_autocast_enabled(at::kCPU) ? at::autocast::get_autocast_dtype(at::kCPU) : x.scalar_type();
}

bool can_multiply(at::ScalarType type) { return type == at::kFloat || (type == at::kBFloat16 && at::cpu::is_avx512_vnni_supported()); }

bool evaluates(const at::Tensor& x) {
  return !at::GradMode::is_enabled() && x.is_cpu() && x.numel() > 0 && can_multiply(type_of(x)) && at::globalContext().userEnabledMkldnn();
}

bool applies(const torch::nn::Conv2dImpl& convolution, const torch::nn::BatchNorm2dImpl& norm, const at::Tensor& x) {
  const auto* padding = std::get_if<torch::ExpandingArray<2>>(&convolution.options.padding());
  return evaluates(x) && !norm.is_training() && convolution.weight.scalar_type() == at::kFloat && !convolution.bias.defined() &&
         norm.running_mean.defined() && norm.weight.defined() && norm.weight.scalar_type() == at::kFloat && padding != nullptr &&
         std::holds_alternative<torch::enumtype::kZeros>(convolution.options.padding_mode()) && operators().plain && operators().with_sum;
}

std::vector<int64_t> numbers(const torch::ExpandingArray<2>& array) { return {array->begin(), array->end()}; }

at::Tensor called(const c10::OperatorHandle& op, torch::jit::Stack arguments) {
  op.callBoxed(arguments);
  return std::move(arguments.front()).toTensor();
}

FoldedLayer folded(const torch::nn::Conv2dImpl& convolution, const torch::nn::BatchNorm2dImpl& norm, at::ScalarType type) {
  const auto& options = convolution.options;
  const at::Tensor scale = norm.weight / (norm.running_var + norm.options.eps()).sqrt_();
  FoldedLayer layer = {(convolution.weight * scale.view({-1, 1, 1, 1})).to(type),
                       (norm.bias - scale * norm.running_mean).to(type),
                       numbers(std::get<torch::ExpandingArray<2>>(options.padding())),
                       numbers(options.stride()),
                       numbers(options.dilation()),
                       options.groups(),
                       0,
                       0};
  layer.gain = kRoundingFactor * layer.weight.flatten(1).abs().sum(1, /*keepdim=*/false, at::kDouble).max().item<double>();
  layer.offset = kRoundingFactor * layer.bias.abs().max().item<double>();
  return layer;
}

at::Tensor packed(const FoldedLayer& layer, const at::Tensor& x) {
  if (!operators().packed) return layer.weight;
  return called(*operators().packed, {layer.weight, layer.padding, layer.stride, layer.dilation, layer.groups, x.sizes().vec()});
}

FoldedLayer layer_for(const torch::nn::Conv2dImpl& convolution, const torch::nn::BatchNorm2dImpl& norm, const at::Tensor& x) {
  const at::ScalarType type = type_of(x);
  if (kept == nullptr) return folded(convolution, norm, type);
  const auto [place, is_new] = kept->layers.try_emplace({&convolution, type});
  if (is_new) {
    place->second = folded(convolution, norm, type);
    place->second.weight = packed(place->second, x);
  }
  return place->second;
}

at::Tensor convolved(const FoldedLayer& layer, const at::Tensor& x, const std::string& activation, const Scalars& bounds = Scalars()) {
  return called(*operators().plain, {x.to(layer.bias.scalar_type()), layer.weight, layer.bias, layer.padding, layer.stride, layer.dilation,
                                     layer.groups, activation, bounds, c10::IValue()});
}

at::Tensor convolved_with(const at::Tensor& residual, const FoldedLayer& layer, const at::Tensor& x, bool rectified) {
  const at::ScalarType type = layer.bias.scalar_type();
  return called(*operators().with_sum,
                {x.to(type), residual.to(type), layer.weight, layer.bias, layer.padding, layer.stride, layer.dilation, layer.groups, "add",
                 c10::IValue(), rectified ? c10::IValue("relu") : c10::IValue(), Scalars(), c10::IValue()});
}

PackedLinear linear_for(const torch::nn::LinearImpl& linear, const at::Tensor& x) {
  const at::ScalarType type = type_of(x);
  const auto typed = [&] { return PackedLinear{linear.weight.to(type), linear.bias.to(type)}; };
  if (kept == nullptr) return typed();
  const auto [place, is_new] = kept->linears.try_emplace({&linear, type});
  if (is_new) {
    place->second = typed();
    if (operators().packed_linear) {
      place->second.weight = called(*operators().packed_linear, {place->second.weight, x.numel() / x.size(-1)});
    }
  }
  return place->second;
}

double measured(const at::Tensor& x) {  // NaN if one is there
  const auto [least, largest] = at::aminmax(x);
  return std::max(std::abs(least.item<double>()), std::abs(largest.item<double>()));
}

// Of the sums of a layer, or nothing if one could be infinite or NaN.
std::optional<double> finite_bound(const FoldedLayer& layer, const BoundedMap& x, const at::Tensor& residual, double residual_bound) {
  double bound = layer.bound(x.bound) + residual_bound;
  if (bound < kLargestSum) return bound;
  bound = layer.bound(measured(x.values)) + (residual.defined() ? measured(residual) : 0);
  return bound < kLargestSum ? std::optional(bound) : std::nullopt;
}

}  // namespace

KeptWeights::KeptWeights() : table_(std::make_unique<Table>()), before_(std::exchange(kept, table_.get())) {}

KeptWeights::~KeptWeights() { kept = before_; }

std::optional<BoundedMap> folded_convolution(const torch::nn::Conv2dImpl& convolution, const torch::nn::BatchNorm2dImpl& norm,
                                             const BoundedMap& x, const AfterNorm& after, double residual_bound) {
  if (after.activation == Activation::kTanh || !applies(convolution, norm, x.values)) return std::nullopt;
  const FoldedLayer layer = layer_for(convolution, norm, x.values);
  const bool sums = after.residual.defined(), rectifies = after.activation.has_value();
  if (!sums) residual_bound = 0;
  // A bound is only worth measuring where it saves a walk through the map.
  const std::optional<double> bound =
      rectifies ? finite_bound(layer, x, after.residual, residual_bound) : std::optional(layer.bound(x.bound) + residual_bound);
  const bool fused = rectifies && bound.has_value();
  at::Tensor y = sums ? convolved_with(after.residual, layer, x.values, fused) : convolved(layer, x.values, fused ? "relu" : "none");
  if (rectifies && !fused) y.relu_();  // by ATen, which keeps NaN
  return BoundedMap{y, bound.value_or(std::numeric_limits<double>::infinity())};
}

std::optional<BoundedMap> folded_convolution6(const torch::nn::Conv2dImpl& convolution, const torch::nn::BatchNorm2dImpl& norm,
                                              const BoundedMap& x) {
  constexpr double kLargest = 6;
  if (!applies(convolution, norm, x.values)) return std::nullopt;
  const FoldedLayer layer = layer_for(convolution, norm, x.values);
  if (!finite_bound(layer, x, {}, 0)) return std::nullopt;
  Scalars bounds;
  bounds.push_back(at::Scalar(0.0));
  bounds.push_back(at::Scalar(kLargest));
  return BoundedMap{convolved(layer, x.values, "hardtanh", bounds), kLargest};
}

BoundedMap normalised_convolution(torch::nn::Conv2d& convolution, torch::nn::BatchNorm2d& norm, const BoundedMap& x, const AfterNorm& after,
                                  double residual_bound) {
  if (auto y = folded_convolution(*convolution, *norm, x, after, residual_bound)) return *std::move(y);
  return {normalised(*norm, convolution(x.values), after)};
}

BoundedBranches normalised_convolution_branches(torch::nn::Conv2d& convolution, torch::nn::BatchNorm2d& norm, const BoundedMap& x,
                                                const AfterNorm& after, double residual_bound) {
  if (const auto y = folded_convolution(*convolution, *norm, x, after, residual_bound)) return {{y->values, y->values}, y->bound};
  return {normalised_branches(*norm, convolution(x.values), after)};
}

std::optional<at::Tensor> packed_linear(const torch::nn::LinearImpl& linear, const at::Tensor& x, AfterLinear after) {
  if (!evaluates(x) || linear.weight.scalar_type() != at::kFloat || !linear.bias.defined() || !operators().linear) return std::nullopt;
  const PackedLinear layer = linear_for(linear, x);
  const char* activation = after == AfterLinear::kGelu ? "gelu" : "none";
  return called(*operators().linear, {x.to(layer.bias.scalar_type()), layer.weight, layer.bias, activation, Scalars(), "none"});
}

namespace {

// oneDNN lays the kept pixels out in blocks of 8 (AVX2) or 16 (AVX-512) channels, in room for those that there are.
bool fills_blocks(int64_t channels) { return channels >= 16 && channels % 8 == 0; }

constexpr int64_t kSideByFourier = 7, kLeastChannelsByFourier = 16;

// A convolution of padded maps, without steps, by NNPACK: forward, and the gradient of its input, which is the convolution of the other
// gradient with the turned weight. The gradient of the weight is oneDNN's.
class FourierConvolution : public torch::autograd::Function<FourierConvolution> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
    ctx->save_for_backward({x, weight});
    ctx->saved_data["bias"] = bias.defined();
    return convolved(x, weight, bias);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx, const torch::autograd::variable_list& gradients) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &dy = gradients[0];
    const bool biased = ctx->saved_data["bias"].toBool();
    at::Tensor dx, dw, db;
    if (ctx->needs_input_grad(0)) dx = convolved(dy, weight.flip({2, 3}).transpose(0, 1), {});
    if (ctx->needs_input_grad(1) || (biased && ctx->needs_input_grad(2))) {
      const std::vector<int64_t> ones = {1, 1}, padding(2, weight.size(2) / 2);
      std::tie(std::ignore, dw, db) =
          at::convolution_backward(dy.contiguous(at::MemoryFormat::ChannelsLast), x, weight, at::OptionalIntArrayRef(dy.size(1)), ones,
                                   padding, ones, false, {0, 0}, 1, {false, true, biased});
    }
    return {dx, dw, biased ? db : at::Tensor()};
  }

 private:
  static at::Tensor convolved(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
    const std::vector<int64_t> padding(2, weight.size(2) / 2), steps = {1, 1};
    return at::_nnpack_spatial_convolution(x.contiguous(), weight.contiguous(), bias, padding, steps)
        .contiguous(at::MemoryFormat::ChannelsLast);
  }
};

bool takes_fourier(const torch::nn::Conv2dImpl& conv, const at::Tensor& x) {
  const auto& weight = conv.weight;
  const auto* padding = std::get_if<torch::ExpandingArray<2>>(&conv.options.padding());
  const auto all = [](const torch::ExpandingArray<2>& numbers, int64_t number) {
    return numbers->at(0) == number && numbers->at(1) == number;
  };
  return x.is_cpu() && x.dim() == 4 && x.scalar_type() == at::kFloat && weight.scalar_type() == at::kFloat &&
         !at::autocast::is_autocast_enabled(at::kCPU) && weight.size(2) == kSideByFourier && weight.size(3) == kSideByFourier &&
         std::min(weight.size(0), weight.size(1)) >= kLeastChannelsByFourier && std::min(x.size(2), x.size(3)) >= 2 * kSideByFourier &&
         x.size(0) > 0 && all(conv.options.stride(), 1) && all(conv.options.dilation(), 1) && conv.options.groups() == 1 &&
         padding != nullptr && all(*padding, kSideByFourier / 2) &&
         std::holds_alternative<torch::enumtype::kZeros>(conv.options.padding_mode()) && at::_nnpack_available();
}

}  // namespace

torch::Tensor convolve(torch::nn::Conv2d& conv, const torch::Tensor& x) {
  const auto& weight = conv->weight;
  const int64_t step = conv->options.stride()->at(0);
  if (takes_fourier(*conv, x)) return FourierConvolution::apply(x, weight, conv->bias);
  if (!x.is_cpu() || step == 1 || weight.size(2) != 1 || weight.size(3) != 1 || fills_blocks(weight.size(1))) return conv(x);
  return at::conv2d(x.slice(2, 0, std::nullopt, step).slice(3, 0, std::nullopt, step), weight, conv->bias);
}

}  // namespace debias
