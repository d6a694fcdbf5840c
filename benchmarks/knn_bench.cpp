// kNN evaluation, 50,000 gallery rows x 512: against the usual composition in torch (chunks of 256 queries, product, topk, sums of one-hot
// votes). Both are timed in turn on the same features; first their predictions are compared.
#include <ATen/ATen.h>
#include <benchmark/benchmark.h>

#include <chrono>

#include "debias/evaluate/accuracy.h"
#include "debias/evaluate/protocols/knn.h"

namespace debias {
namespace {

constexpr int64_t kGallery = 50000, kDim = 512, kClasses = 10, kNeighbours = 200, kChunk = 256;
constexpr double kTemperature = 0.5;

at::Tensor composed(const at::Tensor& queries, const at::Tensor& gallery, const at::Tensor& labels) {
  const auto unit = [](const at::Tensor& rows) { return rows / at::linalg_vector_norm(rows, 2, {1}, true); };
  const at::Tensor columns = unit(gallery).t();
  std::vector<at::Tensor> predictions;
  for (const at::Tensor& chunk : unit(queries).split(kChunk)) {
    const int64_t B = chunk.size(0);
    const auto [cosines, rows] = at::mm(chunk, columns).topk(kNeighbours, -1);
    const at::Tensor own = at::gather(labels.expand({B, kGallery}), -1, rows).view({-1, 1});
    const at::Tensor one_hot = at::zeros({B * kNeighbours, kClasses}).scatter_(-1, own, 1.0).view({B, kNeighbours, kClasses});
    predictions.push_back((one_hot * (cosines / kTemperature).exp().unsqueeze(-1)).sum(1).argmax(-1));
  }
  return at::cat(predictions);
}

// Features as an encoder's: not negative, of 128 directions, in classes that overlap.
at::Tensor features(const at::Tensor& labels, const at::Tensor& centres, const at::Tensor& directions) {
  const at::Tensor hidden = centres.index_select(0, labels) + at::randn({labels.size(0), directions.size(0)});
  return at::mm(hidden, directions).relu();
}

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void knn_against_composition(benchmark::State& state) {
  at::manual_seed(1);
  const int64_t Q = state.range(0);
  const bool isotropic = state.range(1) != 0;
  const at::Tensor directions = at::randn({128, kDim}), centres = at::randn({kClasses, 128}) * 0.3;
  const at::Tensor gallery_labels = at::randint(kClasses, {kGallery}, at::kLong), query_labels = at::randint(kClasses, {Q}, at::kLong);
  const at::Tensor gallery = isotropic ? at::randn({kGallery, kDim}) : features(gallery_labels, centres, directions);
  const at::Tensor queries = isotropic ? at::randn({Q, kDim}) : features(query_labels, centres, directions);
  const int64_t* label = gallery_labels.const_data_ptr<int64_t>();
  const KnnGallery labelled{gallery, {label, label + kGallery}, kClasses};
  const std::vector<int64_t> unknown(static_cast<size_t>(Q), kUnknown);
  double plain = 0, own = 0;
  for (auto _ : state) {
    const double start = seconds();
    const at::Tensor expected = composed(queries, gallery, gallery_labels);
    const double middle = seconds();
    const KnnResult found = knn(labelled, queries, unknown, kNeighbours, kTemperature);
    const double end = seconds();
    int64_t equal = 0;
    for (int64_t q = 0; q < Q; ++q) equal += found.predictions[q] == expected.const_data_ptr<int64_t>()[q];
    const double share = static_cast<double>(equal) / static_cast<double>(Q);
    if (share < 0.999) return state.SkipWithError("less than 99.9 % of the predictions are equal");
    plain += middle - start;
    own += end - middle;
    state.counters["equal"] = share;
    state.SetIterationTime(end - middle);
  }
  state.counters["times_as_fast"] = plain / own;
}

BENCHMARK(knn_against_composition)
    ->ArgNames({"queries", "isotropic"})
    ->ArgsProduct({{2000, 10000}, {0, 1}})
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace debias
