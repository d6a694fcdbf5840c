#include "debias/train/methods/running_statistics.h"

#include <ATen/ATen.h>
#include <torch/nn/modules/batchnorm.h>

#include "debias/runtime/device.h"

namespace debias {
namespace {

template <class Module, class Add>
bool add_if(const torch::nn::Module& module, const Add& add) {
  const auto* norm = dynamic_cast<const Module*>(&module);
  if (norm == nullptr || !norm->running_mean.defined()) return false;
  add(*norm);
  return true;
}

std::vector<at::Tensor> flat(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> rows;
  for (const auto& tensor : tensors) rows.push_back(tensor.detach().reshape({-1}));
  return rows;
}

at::Tensor one_behind_the_other(const std::vector<at::Tensor>& tensors) { return at::cat(flat(tensors)).to(at::kDouble); }

}  // namespace

RunningStatistics::RunningStatistics(const std::vector<const torch::nn::Module*>& networks, const Ranks& ranks) : ranks_(ranks) {
  if (ranks.is_alone()) return;
  const auto add = [this](const auto& module) {
    Norms& norms = by_momentum_[*module.options.momentum()];
    norms.moments.insert(norms.moments.end(), {module.running_mean, module.running_var});
    norms.passes.push_back(module.num_batches_tracked);
  };
  for (const auto* network : networks) {
    for (const auto& part : network->modules(/*include_self=*/false)) {
      if (!add_if<torch::nn::BatchNorm2dImpl>(*part, add)) add_if<torch::nn::BatchNorm1dImpl>(*part, add);
    }
  }
  for (auto& [momentum, norms] : by_momentum_) {
    norms.old_moments = one_behind_the_other(norms.moments);
    norms.old_passes = one_behind_the_other(norms.passes);
  }
}

void RunningStatistics::join() {
  const at::NoGradGuard no_grad;
  for (auto& [momentum, norms] : by_momentum_) join(momentum, norms);
}

void RunningStatistics::join(double momentum, Norms& norms) const {
  std::vector<int64_t> sizes, channels;  // of each buffer; of a layer's both together
  for (const auto& moments : norms.moments) sizes.push_back(moments.numel());
  for (size_t i = 0; i < sizes.size(); i += 2) channels.push_back(sizes[i] + sizes[i + 1]);
  const int64_t layers = std::ssize(channels), numbers = norms.old_moments.numel();

  const at::Tensor counts = one_behind_the_other(norms.passes) - norms.old_passes;
  const at::Tensor of_ranks = ranks_.gather(at::cat({one_behind_the_other(norms.moments), counts}), Ranks::Channel::kStatistics);
  const at::Tensor layer_of = upload(at::repeat_interleave(at::tensor(channels, at::kLong)), norms.old_moments.device());
  at::Tensor moments = norms.old_moments;
  for (int64_t rank = 0; rank < ranks_.size(); ++rank) {
    const at::Tensor own = of_ranks[rank].slice(0, 0, numbers), passes = of_ranks[rank].slice(0, numbers, numbers + layers);
    moments = own + at::pow(1 - momentum, passes).index_select(0, layer_of) * (moments - norms.old_moments);
  }
  const at::Tensor passes = (norms.old_passes + of_ranks.slice(1, numbers).sum(0)).to(at::kLong);
  const std::vector<at::Tensor> buffers = flat(norms.moments);
  at::_foreach_copy_(buffers, moments.split_with_sizes(sizes));
  at::_foreach_copy_(flat(norms.passes), passes.split(1));
}

}  // namespace debias
