#include "debias/encoders/batch_norm.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include <vector>

#include "debias/core/error.h"
#include "debias/kernels/batch_norm.h"

namespace debias {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

thread_local const NormPeers* current_peers = nullptr;  // as torch has its modes: layers deep in a network are called by nobody who knows

bool lies_channels_last(const at::Tensor& x) {
  return x.dim() == 4 ? x.is_contiguous(at::MemoryFormat::ChannelsLast) : x.dim() == 2 && x.is_contiguous();
}

at::Tensor channels_last(const at::Tensor& x) { return x.dim() == 4 ? x.contiguous(at::MemoryFormat::ChannelsLast) : x.contiguous(); }

kernels::MapShape map_shape(const at::Tensor& x) {
  return {x.size(1) == 0 ? 0 : x.numel() / x.size(1), x.size(1), x.scalar_type() == at::kBFloat16};
}

bool is_sole_owner(const at::Tensor& tensor) { return tensor.use_count() == 1 && tensor.storage().use_count() == 1; }

// weight / sqrt(variance + eps)
at::Tensor scale_of(const at::Tensor& weight, const at::Tensor& deviation) { return weight.detach() / deviation; }

struct SavedNorm {
  explicit SavedNorm(AutogradContext* context)
      : saved(context->get_saved_variables()),
        factors{saved[4].const_data_ptr<float>(), saved[5].const_data_ptr<float>(), saved[2].const_data_ptr<float>()} {}

  const at::Tensor& x() const { return saved[0]; }
  const void* y() const { return saved[1].defined() ? saved[1].const_data_ptr() : nullptr; }
  const at::Tensor& deviation() const { return saved[3]; }

  variable_list saved;  // x, y, bias, deviation, mean, scale
  kernels::NormFactors factors;
};

class NormReluSum : public Function<NormReluSum> {
 public:
  // `deviation`: the root of variance + eps; `rows`: of how many positions mean and deviation are, which then depend on x, else 0.
  // `peers`: who has the others of them.
  static variable_list forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                               const std::optional<at::Tensor>& residual, const at::Tensor& mean, const at::Tensor& deviation, bool relu,
                               int64_t rows, const NormPeers* peers) {
    const at::Tensor y = at::empty_like(x), scale = scale_of(weight, deviation), shift = bias.detach();
    kernels::normalise(map_shape(x), x.const_data_ptr(),
                       {mean.const_data_ptr<float>(), scale.const_data_ptr<float>(), shift.const_data_ptr<float>()},
                       residual ? residual->const_data_ptr() : nullptr, relu, y.mutable_data_ptr());
    const bool by_output = relu && residual.has_value();
    context->save_for_backward({x, by_output ? y : at::Tensor(), shift, deviation, mean, scale});
    context->saved_data["passed"] = static_cast<int64_t>(!relu       ? kernels::Passed::kAll
                                                         : by_output ? kernels::Passed::kByOutput
                                                                     : kernels::Passed::kByInput);
    context->saved_data["rows"] = rows;
    context->saved_data["peers"] = reinterpret_cast<intptr_t>(peers);
    context->set_materialize_grads(false);
    context->saved_data["summed"] = residual.has_value();
    return {y, y.variable_data()};
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    if (at::GradMode::is_enabled()) throw usage_error("batch normalisation of an encoder has no second derivative; compute in double");
    const at::Tensor &given = grads[0].defined() ? grads[0] : grads[1], &second = grads[0].defined() ? grads[1] : grads[0];
    if (!given.defined()) return variable_list(kInputs);
    const SavedNorm saved(context);
    const auto passed = static_cast<kernels::Passed>(context->saved_data["passed"].toInt());
    const bool summed = context->saved_data["summed"].toBool();
    const kernels::MapShape shape = map_shape(saved.x());
    const at::Tensor dy = channels_last(given), other = second.defined() ? channels_last(second) : second;
    const at::Tensor sum = at::empty_like(saved.deviation()), dot = at::empty_like(sum);
    kernels::GradientMaps maps{dy.const_data_ptr(), other.defined() ? other.const_data_ptr() : nullptr, saved.y(),
                               saved.x().const_data_ptr()};
    // What passed is the residual's gradient, too; it is kept for the second walk, in place of dy where nobody else holds that.
    const bool keeps = other.defined() || (summed && passed != kernels::Passed::kAll), may_overwrite = is_ours(dy, given);
    const at::Tensor kept = keeps && !may_overwrite ? at::empty_like(dy) : dy;
    kernels::norm_gradient_sums(shape, passed, maps, saved.factors, keeps ? kept.mutable_data_ptr() : nullptr,
                                sum.mutable_data_ptr<float>(), dot.mutable_data_ptr<float>());
    at::Tensor dx;
    if (context->needs_input_grad(0)) {
      dx = !summed && (keeps || may_overwrite) ? kept : at::empty_like(dy);
      const auto factors = gradient_factors(saved, sums_of_all(context, sum, dot), context->saved_data["rows"].toInt());
      maps.dy = kept.const_data_ptr();
      maps.other = nullptr;
      kernels::norm_gradient(shape, keeps ? kernels::Passed::kAll : passed, maps, saved.factors,
                             {factors[0].data(), factors[1].data(), factors[2].data()}, dx.mutable_data_ptr());
    }
    return {dx, dot.div_(saved.deviation()), sum, summed ? kept : at::Tensor(), {}, {}, {}, {}, {}};
  }

 private:
  static constexpr size_t kInputs = 9;

  // float64 [2, C]
  static at::Tensor sums_of_all(AutogradContext* context, const at::Tensor& sum, const at::Tensor& dot) {
    const auto* peers = reinterpret_cast<const NormPeers*>(static_cast<intptr_t>(context->saved_data["peers"].toInt()));
    const at::Tensor own = at::stack({sum, dot}).to(at::kDouble);
    return peers == nullptr ? own : peers->sum(own);
  }

  // A copy in the right layout is; the gradient itself where only the caller holds it.
  static bool is_ours(const at::Tensor& dy, const at::Tensor& given) {
    if (!dy.is_same(given)) return is_sole_owner(dy);
    return given.use_count() == 2 && given.storage().use_count() == 1;  // `dy` and `given`
  }

  // a, b and c of kernels::GradientFactors; `rows` = 0: mean and deviation are constants.
  static std::array<std::vector<float>, 3> gradient_factors(const SavedNorm& saved, const at::Tensor& of_all, int64_t rows) {
    const auto C = static_cast<size_t>(of_all.size(1));
    const auto *sums = of_all.const_data_ptr<double>(), *dots = sums + C;
    const auto* deviations = saved.deviation().const_data_ptr<float>();
    std::array<std::vector<float>, 3> factors = {std::vector<float>(saved.factors.scale, saved.factors.scale + C), std::vector<float>(C),
                                                 std::vector<float>(C)};
    for (size_t c = 0; c < C && rows > 0; ++c) {
      const double a = factors[0][c], n = static_cast<double>(rows), deviation = deviations[c];
      factors[1][c] = static_cast<float>(-a * dots[c] / (n * deviation * deviation));
      factors[2][c] = static_cast<float>(-a * sums[c] / n);
    }
    return factors;
  }
};

void move_running(const NormLayer& layer, const at::Tensor& mean, const at::Tensor& unbiased_variance) {
  const at::NoGradGuard no_grad;
  const double momentum = *layer.options.momentum();
  const auto move = [momentum](const at::Tensor& running, const at::Tensor& to) {
    running.mul_(1 - momentum).add_(to.to(running.scalar_type()), momentum);
  };
  layer.num_batches_tracked.add_(1);
  move(layer.running_mean, mean);
  move(layer.running_var, unbiased_variance);
}

void update_running(const NormLayer& layer, const ChannelMoments& moments) {
  move_running(layer, moments.mean, moments.m2 / static_cast<double>(moments.count - 1));
}

ChannelMoments counted(const JoinedMoments& joined) {  // the host reads the number of rows
  return {static_cast<int64_t>(joined.rows.item<double>()), joined.mean, joined.m2};
}

const NormPeers* peers_of(AutogradContext* context) {
  return reinterpret_cast<const NormPeers*>(static_cast<intptr_t>(context->saved_data["peers"].toInt()));
}

// By the kernels that torch has for synchronised normalisation on devices.
class NormOnDevice : public Function<NormOnDevice> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& given, const at::Tensor& weight, const at::Tensor& bias,
                            const NormLayer& layer, const NormPeers* peers) {
    const double eps = layer.options.eps();
    const at::Tensor x = given.contiguous(given.suggest_memory_format());
    const auto [own_mean, own_scale] = at::batch_norm_stats(x, eps);
    const int64_t rows = x.numel() / x.size(1);
    const JoinedMoments all = peers->join({rows, own_mean, ((own_scale.to(at::kDouble).pow(-2) - eps) * rows).clamp_min_(0)});
    move_running(layer, all.mean, all.m2 / (all.rows - 1));
    const at::Tensor mean = all.mean.to(own_mean.scalar_type()), scale = (all.m2 / all.rows + eps).rsqrt_().to(own_mean.scalar_type());
    context->save_for_backward({x, weight.detach(), mean, scale, all.rows});
    context->saved_data["peers"] = reinterpret_cast<intptr_t>(peers);
    return at::batch_norm_elemt(x, weight, bias, mean, scale, eps);
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    if (at::GradMode::is_enabled()) throw usage_error("batch normalisation of several processes has no second derivative");
    const auto saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &mean = saved[2], &scale = saved[3];
    const at::Tensor dy = grads[0].contiguous(x.suggest_memory_format());
    const auto [sum, dot, of_weight, of_bias] = at::batch_norm_backward_reduce(dy, x, mean, scale, weight, true, true, true);
    const at::Tensor all = peers_of(context)->sum(at::stack({sum, dot}).to(at::kDouble)).to(sum.scalar_type());
    const at::Tensor dx = at::batch_norm_backward_elemt(dy, x, mean, scale, weight, all[0], all[1], saved[4].to(at::kInt).view({1}));
    return {dx, of_weight, of_bias, {}, {}};
  }
};

// The same of any type and layout on the host, from ATen's operators.
class NormOfAll : public Function<NormOfAll> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                            const NormLayer& layer, const NormPeers* peers) {
    const at::Tensor wide = widened(x), mean = wide.mean(others(x)), deviations = wide - by_channel(mean, x);
    const ChannelMoments own = {x.numel() / x.size(1), mean, deviations.square().sum(others(x))}, all = counted(peers->join(own));
    update_running(layer, all);
    const auto converted = [&](const at::Tensor& moments) { return moments.to(wide.options()); };
    const at::Tensor joined = converted(all.mean),
                     deviation = converted((all.m2 / static_cast<double>(all.count)).add_(layer.options.eps()).sqrt_());
    context->save_for_backward({x, joined, deviation, weight.detach()});
    context->saved_data["rows"] = all.count;
    context->saved_data["peers"] = reinterpret_cast<intptr_t>(peers);
    const at::Tensor scale = weight.to(wide.scalar_type()) / deviation;
    return ((wide - by_channel(joined, x)) * by_channel(scale, x) + by_channel(bias.to(wide.scalar_type()), x)).to(x.scalar_type());
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    if (at::GradMode::is_enabled()) throw usage_error("batch normalisation of several processes has no second derivative");
    const auto saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &deviation = saved[2], dy = widened(grads[0]), centred = widened(x) - by_channel(saved[1], x);
    const at::Tensor sum = dy.sum(others(x)), dot = (dy * centred).sum(others(x));
    const at::Tensor all =
        peers_of(context)->sum(at::stack({sum, dot}).to(at::kDouble)).to(dy.options()) / context->saved_data["rows"].toInt();
    const at::Tensor scale = saved[3].to(dy.scalar_type()) / deviation;
    const at::Tensor dx = (dy - by_channel(all[0], x) - centred * by_channel(all[1] / deviation.square(), x)) * by_channel(scale, x);
    return {dx.to(x.scalar_type()), (dot / deviation).to(saved[3].scalar_type()), sum.to(saved[3].scalar_type()), {}, {}};
  }

 private:
  static at::Tensor widened(const at::Tensor& x) { return x.scalar_type() == at::kDouble ? x : x.to(at::kFloat); }
  static std::vector<int64_t> others(const at::Tensor& x) {
    std::vector<int64_t> dims = {0};
    for (int64_t d = 2; d < x.dim(); ++d) dims.push_back(d);
    return dims;
  }
  static at::Tensor by_channel(const at::Tensor& values, const at::Tensor& x) {
    std::vector<int64_t> sizes(static_cast<size_t>(x.dim()), 1);
    sizes[1] = x.size(1);
    return values.view(sizes);
  }
};

}  // namespace

ChannelMoments channel_moments(const at::Tensor& x) {
  const kernels::MapShape shape = map_shape(x);
  ChannelMoments moments{shape.rows, at::empty({shape.channels}, at::kFloat), at::empty({shape.channels}, at::kFloat)};
  kernels::channel_moments(shape, x.const_data_ptr(), moments.mean.mutable_data_ptr<float>(), moments.m2.mutable_data_ptr<float>());
  return moments;
}

bool has_fused_norm(const NormLayer& layer, const at::Tensor& x, const AfterNorm& after) {
  const auto is_vector = [](const at::Tensor& values) {
    return values.defined() && values.is_cpu() && values.scalar_type() == at::kFloat && values.is_contiguous();
  };
  const bool known_type = x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16;
  if (!x.is_cpu() || !known_type || x.numel() == 0 || !lies_channels_last(x) || x.size(1) != layer.weight.numel()) return false;
  if (!is_vector(layer.weight) || !is_vector(layer.bias) || !is_vector(layer.running_mean) || !is_vector(layer.running_var)) return false;
  if (!layer.options.momentum() || (layer.training && x.numel() == x.size(1) && !is_shared(layer)))
    return false;  // of one position ATen says what is wrong
  const at::Tensor& residual = after.residual;
  return !residual.defined() ||
         (residual.sizes() == x.sizes() && residual.scalar_type() == x.scalar_type() && residual.is_cpu() && lies_channels_last(residual));
}

Branches fused_norm_branches(const NormLayer& layer, const at::Tensor& x, const AfterNorm& after) {
  RECORD_FUNCTION("debias::fused_norm", c10::ArrayRef<const c10::IValue>());
  const double eps = layer.options.eps();
  at::Tensor mean = layer.running_mean, deviation;
  int64_t rows = 0;
  const NormPeers* peers = is_shared(layer) ? current_peers : nullptr;
  {
    const at::NoGradGuard no_grad;
    if (layer.training) {
      const ChannelMoments own = channel_moments(x), moments = peers == nullptr ? own : counted(peers->join(own));
      update_running(layer, moments);
      mean = moments.mean.to(at::kFloat);
      deviation = (moments.m2 / static_cast<double>(moments.count)).add_(eps).sqrt_().to(at::kFloat);
      rows = moments.count;
    } else {
      deviation = (layer.running_var + eps).sqrt_();
    }
  }
  const std::optional<at::Tensor> residual = after.residual.defined() ? std::optional(after.residual) : std::nullopt;
  const variable_list y =
      NormReluSum::apply(x, layer.weight, layer.bias, residual, mean, deviation, after.activation == Activation::kRelu, rows, peers);
  if (after.activation == Activation::kTanh) {
    const at::Tensor bounded = y[0].tanh();
    return {bounded, bounded};
  }
  return {y[0], y[1]};
}

SharedNorm::SharedNorm(const NormPeers* peers) : before_(std::exchange(current_peers, peers)) {}

SharedNorm::~SharedNorm() { current_peers = before_; }

bool is_shared(const NormLayer& layer) { return layer.training && current_peers != nullptr; }

at::Tensor shared_norm(const NormLayer& layer, const at::Tensor& x) {
  if (!x.is_cpu()) return NormOnDevice::apply(x, layer.weight, layer.bias, layer, current_peers);
  return NormOfAll::apply(x, layer.weight, layer.bias, layer, current_peers);
}

at::Tensor fused_norm(const NormLayer& layer, const at::Tensor& x, const AfterNorm& after) {
  return fused_norm_branches(layer, x, after).first;
}

}  // namespace debias
