// The packed GRU beside at::gru, forward and backward, on sentences of 1 to 50 words: the ratio of their processor seconds, in pairs one after the other
// (with OMP_NUM_THREADS=1 no waiting thread counts as work). Sizes: embedding, units of a direction, sentences. Gradients must agree first.
#include <ATen/ATen.h>
#include <benchmark/benchmark.h>
#include <time.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <vector>

#include "debias/core/philox.h"
#include "debias/encoders/packed_gru.h"
#include "debias/process/startup.h"

namespace debias {
namespace {

struct Subject {
  std::shared_ptr<const PackedSteps> steps;
  at::Tensor inputs, pull;
  std::vector<GruWeights> weights;
  std::vector<at::Tensor> leaves, flat;

  Subject(int64_t E, int64_t H, int64_t N) {
    Random random({.seed = 1});
    at::Tensor ids = at::full({N, 50}, -1, at::kLong);
    for (int64_t i = 0; i < N; ++i) {  // novels: 22 words on average, and one in sixteen has 50
      const int64_t length = random.below(16) == 0 ? 50 : 1 + random.below(40);
      ids[i].slice(0, 0, length).zero_();
    }
    steps = packed_steps(ids);
    const auto drawn = [&](at::IntArrayRef shape) {
      at::Tensor t = at::empty(shape);
      for (float* p = t.data_ptr<float>(); p != t.data_ptr<float>() + t.numel(); ++p) *p = static_cast<float>(random.uniform(-0.08, 0.08));
      return t.set_requires_grad(true);
    };
    inputs = drawn({steps->tokens(), E});
    pull = drawn({N, 2 * H}).detach();
    leaves = {inputs};
    for (int d = 0; d < 2; ++d) {
      weights.push_back({drawn({3 * H, E}), drawn({3 * H, H}), drawn({3 * H}), drawn({3 * H})});
      const GruWeights& w = weights.back();
      flat.insert(flat.end(), {w.input, w.hidden, w.input_bias, w.hidden_bias});
    }
    leaves.insert(leaves.end(), flat.begin(), flat.end());
  }

  std::vector<at::Tensor> ours() const {
    return torch::autograd::grad({(packed_gru(inputs, steps, weights, GruCell::kTorch) * pull).sum()}, leaves);
  }
  std::vector<at::Tensor> theirs() const {
    const at::Tensor start = at::zeros({2, steps->sentences(), weights[0].hidden.size(1)});
    const auto [output, state] = at::gru(inputs, at::tensor(steps->rows, at::kLong), start, flat, true, 1, 0.0, true, true);
    const at::Tensor rows = state.transpose(0, 1).reshape({steps->sentences(), -1});
    return torch::autograd::grad({(rows * pull.index_select(0, steps->order)).sum()}, leaves);
  }
};

double processor_seconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class Work>
double seconds_of(const Work& work) {
  const double start = processor_seconds();
  work();
  return processor_seconds() - start;
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void forward_and_backward(benchmark::State& state) {
  keep_large_blocks();
  const Subject subject(state.range(0), state.range(1), state.range(2));
  const auto ours = subject.ours(), theirs = subject.theirs();
  for (size_t i = 0; i < ours.size(); ++i) {
    if (!at::allclose(ours[i], theirs[i], 1e-3, 1e-5)) return state.SkipWithError("the gradients differ");
  }
  std::vector<double> ratios, times;
  for (auto _ : state) {
    const double own = seconds_of([&] { subject.ours(); }), torchs = seconds_of([&] { subject.theirs(); });
    times.push_back(own);
    ratios.push_back(torchs / own);
  }
  state.counters["seconds"] = median_of(times);
  state.counters["tokens_per_second"] = static_cast<double>(subject.steps->tokens()) / median_of(times);
  state.counters["times_at_gru"] = median_of(ratios);
}
BENCHMARK(forward_and_backward)
    ->Args({64, 64, 100})
    ->Args({200, 200, 400})
    ->Args({300, 300, 400})
    ->Args({620, 600, 400})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace debias
