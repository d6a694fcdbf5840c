#include "debias/encoders/folded_convolution.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/cpu/Utils.h>
#include <ATen/ops/_nnpack_available.h>
#include <ATen/ops/_nnpack_spatial_convolution.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "debias/kernels/winograd.h"

namespace debias {

// What oneDNN's call takes of a layer.
struct FoldedLayer {
  at::Tensor weight, bias;  // of one type
  at::Tensor tiled;         // the weight [3, 3, in, out] in float32, where it may be multiplied in tiles
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
constexpr double kLargestTiled = 1e34;    // Winograd's terms are at most 1,200 times the bound of the sum
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

constexpr int64_t kTileSide = 3, kFourierSide = 7, kLeastFourierChannels = 16;

// Fewer multiplications than the direct sum: 3x3 filters in Winograd's tiles, 7x7 ones in frequency space by NNPACK.
enum class ShortWay { kTiles, kFourier };

kernels::ConvolutionShape shape_of(const at::Tensor& x, int64_t out) { return {x.size(0), x.size(2), x.size(3), x.size(1), out}; }

at::Tensor laid_last(const at::Tensor& x) { return x.contiguous(at::MemoryFormat::ChannelsLast); }

std::optional<ShortWay> short_way(const torch::nn::Conv2dImpl& convolution, const at::Tensor& x) {
  const auto& options = convolution.options;
  const at::Tensor& weight = convolution.weight;
  const auto* padding = std::get_if<torch::ExpandingArray<2>>(&options.padding());
  const auto all = [](const torch::ExpandingArray<2>& pair, int64_t number) { return pair->at(0) == number && pair->at(1) == number; };
  if (!x.is_cpu() || x.dim() != 4 || x.numel() == 0 || x.scalar_type() != at::kFloat || weight.scalar_type() != at::kFloat ||
      at::autocast::is_autocast_enabled(at::kCPU) || weight.size(2) != weight.size(3) || x.size(1) != weight.size(1) ||
      padding == nullptr || !all(*padding, weight.size(2) / 2) || !all(options.stride(), 1) || !all(options.dilation(), 1) ||
      options.groups() != 1 || !std::holds_alternative<torch::enumtype::kZeros>(options.padding_mode())) {
    return std::nullopt;
  }
  if (weight.size(2) == kTileSide && kernels::winograd_pays(shape_of(x, weight.size(0)))) {
    return ShortWay::kTiles;
  }
  if (weight.size(2) == kFourierSide && std::min(weight.size(0), weight.size(1)) >= kLeastFourierChannels &&
      std::min(x.size(2), x.size(3)) >= 2 * kFourierSide && at::_nnpack_available()) {
    return ShortWay::kFourier;
  }
  return std::nullopt;
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
                       at::Tensor(),
                       numbers(std::get<torch::ExpandingArray<2>>(options.padding())),
                       numbers(options.stride()),
                       numbers(options.dilation()),
                       options.groups(),
                       0,
                       0};
  layer.gain = kRoundingFactor * layer.weight.flatten(1).abs().sum(1, /*keepdim=*/false, at::kDouble).max().item<double>();
  layer.offset = kRoundingFactor * layer.bias.abs().max().item<double>();
  if (type == at::kFloat && layer.weight.size(2) == kTileSide && layer.weight.size(3) == kTileSide && options.groups() == 1) {
    layer.tiled = layer.weight.permute({2, 3, 1, 0}).contiguous();
  }
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

at::Tensor convolved_in_tiles(const FoldedLayer& layer, const at::Tensor& x, const at::Tensor& residual) {
  const int64_t out = layer.bias.size(0);
  const at::Tensor maps = laid_last(x), added = residual.defined() ? laid_last(residual) : residual;
  at::Tensor y = at::empty({x.size(0), out, x.size(2), x.size(3)}, x.options(), at::MemoryFormat::ChannelsLast);
  kernels::winograd_convolution(shape_of(x, out), maps.const_data_ptr<float>(), layer.tiled.const_data_ptr<float>(),
                                y.mutable_data_ptr<float>(),
                                {layer.bias.const_data_ptr<float>(), added.defined() ? added.const_data_ptr<float>() : nullptr, true});
  return y;
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
  if (fused && layer.tiled.defined() && *bound < kLargestTiled && short_way(convolution, x.values) == ShortWay::kTiles) {
    return BoundedMap{convolved_in_tiles(layer, x.values, after.residual), *bound};
  }
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
  return {normalised(*norm, convolve(convolution, x.values), after)};
}

BoundedBranches normalised_convolution_branches(torch::nn::Conv2d& convolution, torch::nn::BatchNorm2d& norm, const BoundedMap& x,
                                                const AfterNorm& after, double residual_bound) {
  if (const auto y = folded_convolution(*convolution, *norm, x, after, residual_bound)) return {{y->values, y->values}, y->bound};
  return {normalised_branches(*norm, convolve(convolution, x.values), after)};
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

// Of padded maps, without steps. The gradient of the input is the convolution of the other gradient with the turned weight.
class ShortConvolution : public torch::autograd::Function<ShortConvolution> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& weight, ShortWay way) {
    RECORD_FUNCTION("debias::convolution", c10::ArrayRef<const c10::IValue>());
    context->save_for_backward({x, weight});
    context->saved_data["way"] = static_cast<int64_t>(way);
    return convolved(way, x, weight);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    RECORD_FUNCTION("debias::convolution_backward", c10::ArrayRef<const c10::IValue>());
    const auto saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &dy = gradients[0];
    const auto way = static_cast<ShortWay>(context->saved_data["way"].toInt());
    at::Tensor dx, dw;
    if (context->needs_input_grad(0)) dx = convolved(way, dy, weight.flip({2, 3}).transpose(0, 1));
    if (context->needs_input_grad(1))
      dw = way == ShortWay::kTiles ? weight_gradient_by_tiles(x, dy) : direct_weight_gradient(x, weight, dy);
    return {dx, dw, at::Tensor()};
  }

 private:
  static at::Tensor convolved(ShortWay way, const at::Tensor& x, const at::Tensor& weight) {
    if (way == ShortWay::kFourier) {
      const std::vector<int64_t> padding(2, kFourierSide / 2), steps = {1, 1};
      return laid_last(at::_nnpack_spatial_convolution(x.contiguous(), weight.contiguous(), std::nullopt, padding, steps));
    }
    const at::Tensor maps = laid_last(x), filters = weight.permute({2, 3, 1, 0}).contiguous();
    at::Tensor y = at::empty({x.size(0), weight.size(0), x.size(2), x.size(3)}, x.options(), at::MemoryFormat::ChannelsLast);
    kernels::winograd_convolution(shape_of(x, weight.size(0)), maps.const_data_ptr<float>(), filters.const_data_ptr<float>(),
                                  y.mutable_data_ptr<float>());
    return y;
  }

  static at::Tensor weight_gradient_by_tiles(const at::Tensor& x, const at::Tensor& dy) {
    const at::Tensor maps = laid_last(x), gradient = laid_last(dy);
    at::Tensor dw = at::empty({kTileSide, kTileSide, x.size(1), dy.size(1)}, x.options());
    kernels::winograd_weight_gradient(shape_of(x, dy.size(1)), maps.const_data_ptr<float>(), gradient.const_data_ptr<float>(),
                                      dw.mutable_data_ptr<float>());
    return laid_last(dw.permute({3, 2, 0, 1}));
  }

  static at::Tensor direct_weight_gradient(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& dy) {
    const std::vector<int64_t> ones = {1, 1}, padding(2, weight.size(2) / 2);
    return std::get<1>(
        at::convolution_backward(laid_last(dy), x, weight, std::nullopt, ones, padding, ones, false, {0, 0}, 1, {false, true, false}));
  }
};

}  // namespace

torch::Tensor convolve(torch::nn::Conv2d& conv, const torch::Tensor& x) {
  const auto& weight = conv->weight;
  const int64_t step = conv->options.stride()->at(0);
  if (const auto way = short_way(*conv, x)) {
    at::Tensor y = ShortConvolution::apply(x, weight, *way);
    return conv->bias.defined() ? y.add_(conv->bias.view({-1, 1, 1})) : y;
  }
  if (!x.is_cpu() || step == 1 || weight.size(2) != 1 || weight.size(3) != 1 || fills_blocks(weight.size(1))) return conv(x);
  return at::conv2d(x.slice(2, 0, std::nullopt, step).slice(3, 0, std::nullopt, step), weight, conv->bias);
}

}  // namespace debias
