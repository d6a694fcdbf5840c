#include "debias/train/methods/rank_shares.h"

#include <ATen/ATen.h>

#include <algorithm>

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

}  // namespace debias
