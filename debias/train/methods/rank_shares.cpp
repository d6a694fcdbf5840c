#include "debias/train/methods/rank_shares.h"

#include <ATen/ATen.h>
#include <torch/nn/modules/batchnorm.h>

#include <algorithm>

#include "debias/runtime/device.h"

namespace debias {
namespace {

class NormRanks final : public NormPeers {
 public:
  explicit NormRanks(const Ranks& ranks) : ranks_(ranks) {}

  JoinedMoments join(const ChannelMoments& own) const override {
    const int64_t C = own.mean.numel();
    const at::Tensor mean64 = own.mean.to(at::kDouble), count = at::full({1}, static_cast<double>(own.count), mean64.options());
    const at::Tensor all = ranks_.gather(at::cat({mean64, own.m2.to(at::kDouble), count}), Ranks::Channel::kStatistics);
    const at::Tensor counts = all.slice(1, 2 * C), means = all.slice(1, 0, C), m2s = all.slice(1, C, 2 * C);
    const at::Tensor rows = in_order(counts).squeeze(0), mean = in_order(means * counts).div_(rows);
    return {rows, mean, in_order(m2s + counts * (means - mean).square())};
  }

  at::Tensor sum(const at::Tensor& own) const override { return in_order(ranks_.gather(own, Ranks::Channel::kStatistics)); }

 private:
  at::Tensor in_order(const at::Tensor& of_ranks) const {
    at::Tensor sum = of_ranks[0].clone();
    for (int64_t rank = 1; rank < ranks_.size(); ++rank) sum += of_ranks[rank];
    return sum;
  }

  const Ranks& ranks_;
};

at::Tensor rows_of_all(const at::Tensor& own, const std::vector<int64_t>& bounds, const Ranks& ranks) {
  int64_t largest = 0;
  for (int64_t rank = 0; rank < ranks.size(); ++rank) largest = std::max(largest, bounds[rank + 1] - bounds[rank]);
  std::vector<int64_t> sizes = own.sizes().vec();
  sizes[0] = largest;
  const at::Tensor padded = at::zeros(sizes, own.options());
  padded.slice(0, 0, own.size(0)).copy_(own);
  const at::Tensor all = ranks.gather(padded);
  std::vector<at::Tensor> parts;
  for (int64_t rank = 0; rank < ranks.size(); ++rank) parts.push_back(all[rank].slice(0, 0, bounds[rank + 1] - bounds[rank]));
  return at::cat(parts);
}

}  // namespace

std::unique_ptr<const NormPeers> norm_peers(const Ranks& ranks) { return std::make_unique<NormRanks>(ranks); }

std::unique_ptr<const RowShare> row_share(const Ranks& ranks) {
  const auto gather = [&ranks](const at::Tensor& own, const std::vector<int64_t>& bounds) { return rows_of_all(own, bounds, ranks); };
  const auto sum = [&ranks](const at::Tensor& own) {
    const at::Tensor all = own.clone();
    ranks.sum_ordered({all});
    return all;
  };
  return std::make_unique<RowShare>(RowShare{ranks.rank(), ranks.size(), gather, sum});
}

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
