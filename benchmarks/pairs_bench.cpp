// Mining of pairs, n rows x 512, beside plain cosine (every product of two rows, the largest kept) on the same rows.
#include <ATen/ATen.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

#include "debias/mining/mined_pairs.h"
#include "debias/runtime/unit_rows.h"

namespace debias {
namespace {

constexpr int64_t kWidth = 512, kClasses = 10, kTop = 1000, kBlock = 512;

at::Tensor clustered_rows(int64_t n) {
  at::manual_seed(1);
  const at::Tensor centres = at::randn({kClasses, kWidth}), labels = at::randint(kClasses, {n}, at::kLong);
  return unit_rows(centres.index_select(0, labels) + at::randn({n, kWidth})).contiguous();
}

void mine_pairs(benchmark::State& state) {
  const at::Tensor unit = clustered_rows(state.range(0));
  for (auto _ : state) {
    const PairRanking ranking(unit, {}, MiningOptions{.temperature = 0.07}, Progress::silent());
    if (ranking.pairs().size() < kTop) state.SkipWithError("too few pairs");
    benchmark::DoNotOptimize(ranking.pairs().data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(mine_pairs)->Arg(4000)->UseRealTime()->Unit(benchmark::kMillisecond);

void plain_cosine(benchmark::State& state) {
  const at::Tensor unit = clustered_rows(state.range(0));
  const int64_t n = unit.size(0);
  for (auto _ : state) {
    std::vector<at::Tensor> best;
    for (int64_t first = 0; first < n; first += kBlock) {
      const int64_t count = std::min(kBlock, n - first);
      at::Tensor cosines = at::mm(unit.narrow(0, first, count), unit.t());
      cosines.diagonal(first).narrow(0, 0, count).fill_(-2);
      best.push_back(std::get<0>(cosines.flatten().topk(std::min(2 * kTop, cosines.numel()))));
    }
    benchmark::DoNotOptimize(std::get<0>(at::cat(best).topk(2 * kTop)));
  }
  state.SetItemsProcessed(state.iterations() * n);
}
BENCHMARK(plain_cosine)->Arg(4000)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace debias
