#include "debias/train/methods/running_statistics.h"

#include <ATen/ATen.h>
#include <torch/nn/modules/batchnorm.h>

#include <cmath>

namespace debias {
namespace {

template <class Module, class Add>
bool add_if(const torch::nn::Module& module, const Add& add) {
  const auto* norm = dynamic_cast<const Module*>(&module);
  if (norm == nullptr || !norm->running_mean.defined()) return false;
  add(*norm);
  return true;
}

}  // namespace

RunningStatistics::RunningStatistics(const std::vector<const torch::nn::Module*>& networks, const Ranks& ranks) : ranks_(ranks) {
  if (ranks.is_alone()) return;
  const auto add = [this](const auto& module) {
    norms_.push_back({*module.options.momentum(), module.running_mean, module.running_var, module.num_batches_tracked,
                      module.running_mean.detach().clone(), module.running_var.detach().clone(),
                      module.num_batches_tracked.template item<int64_t>()});
  };
  for (const auto* network : networks) {
    for (const auto& part : network->modules(/*include_self=*/false)) {
      if (!add_if<torch::nn::BatchNorm2dImpl>(*part, add)) add_if<torch::nn::BatchNorm1dImpl>(*part, add);
    }
  }
}

void RunningStatistics::join() {
  if (norms_.empty()) return;
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> own;
  for (const auto& norm : norms_) {
    own.insert(own.end(),
               {norm.mean.to(at::kDouble), norm.variance.to(at::kDouble), (norm.passes - norm.old_passes).to(at::kDouble).view(1)});
  }
  const at::Tensor of_ranks = ranks_.gather(at::cat(own), Ranks::Channel::kStatistics);
  int64_t at = 0;
  for (auto& norm : norms_) {
    join_one(norm, of_ranks, at);
    at += 2 * norm.mean.numel() + 1;
  }
}

void RunningStatistics::join_one(Norm& norm, const at::Tensor& of_ranks, int64_t at) const {
  const int64_t channels = norm.mean.numel();
  const at::Tensor old_mean = norm.old_mean.to(at::kDouble), old_variance = norm.old_variance.to(at::kDouble);
  at::Tensor mean = old_mean, variance = old_variance;
  int64_t passes = 0;
  for (int64_t rank = 0; rank < ranks_.size(); ++rank) {
    const at::Tensor one = of_ranks[rank].slice(0, at, at + 2 * channels + 1);
    const double count = one[2 * channels].item<double>(), keep = std::pow(1 - norm.momentum, count);
    mean = one.slice(0, 0, channels) + keep * (mean - old_mean);
    variance = one.slice(0, channels, 2 * channels) + keep * (variance - old_variance);
    passes += static_cast<int64_t>(count);
  }
  norm.mean.copy_(mean);
  norm.variance.copy_(variance);
  norm.passes.fill_(norm.old_passes + passes);
}

}  // namespace debias
