// Scores against a memory bank and their gradient, one view of contrastive multiview coding: 126,689 samples, D = 128, batch 128. In place
// and by gathering the rows, in turn; scores and gradients must agree before anything is timed. Counters: processor seconds of each way,
// how many times as much gathering takes, and the memory that each adds to the process, in MiB. With OMP_NUM_THREADS=1 no waiting thread
// counts as work.
#include <ATen/ATen.h>
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "debias/losses/bank_draws.h"
#include "debias/train/methods/cmc.h"

namespace debias {
namespace {

constexpr int64_t kSamples = 126'689, kDim = 128, kBatch = 128;
constexpr double kTemperature = 0.07;

using Scores = at::Tensor (*)(const at::Tensor&, const at::Tensor&, const at::Tensor&, double);

double processor_seconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Of the process: resident memory, or its highest value since it was last set back, in MiB.
double resident(const char* what) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(what)) return std::stod(line.substr(line.find(':') + 1)) / 1024;
  }
  return 0;
}
void forget_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

struct Problem {
  explicit Problem(int64_t negatives) : ids(draw_bank_ids(at::randint(kSamples, {kBatch}, at::kLong), negatives, kSamples, 1, 1)) {
    const at::Tensor raw = at::randn({kBatch, kDim});
    features = raw / raw.norm(2, 1, true);
  }
  MemoryBank bank{kSamples, kDim, 1};
  at::Tensor ids, features;
};

// Scores, loss and gradient of the features.
at::Tensor stepped(const Problem& given, Scores scores_of) {
  const at::Tensor f = given.features.clone().set_requires_grad(true);
  softmax_losses(scores_of(given.bank.rows(), given.ids, f, kTemperature)).loss.mean().backward();
  return f.grad();
}

struct Cost {
  double seconds = 1e30, memory = 0;
  void measure(const Problem& given, Scores scores_of) {
    malloc_trim(0);
    forget_peak();
    const double before = resident("VmRSS"), start = processor_seconds();
    benchmark::DoNotOptimize(stepped(given, scores_of));
    seconds = std::min(seconds, processor_seconds() - start);
    memory = std::max(memory, resident("VmHWM") - before);
  }
};

// Of gathered rows in double precision, an anchor at a time. (Gathered in float, the sums over K rows are an order of magnitude farther
// from it than in place.)
at::Tensor expected_gradient(const Problem& given) {
  const at::Tensor rows = given.bank.rows().to(at::kDouble);
  const at::Tensor f = given.features.to(at::kDouble).set_requires_grad(true);
  for (int64_t i = 0; i < kBatch; ++i) {
    const at::Tensor scores = gathered_bank_scores(rows, given.ids.slice(0, i, i + 1), f.slice(0, i, i + 1), kTemperature);
    (softmax_losses(scores).loss.mean() / kBatch).backward();
  }
  return f.grad();
}

void bank(benchmark::State& state) {
  at::manual_seed(1);
  const Problem given(state.range(0));
  const at::Tensor expected = expected_gradient(given);
  const double difference = (stepped(given, bank_scores) - expected).abs().max().item<double>();
  if (!(difference <= 5e-6 * expected.abs().max().item<double>())) return state.SkipWithError("the gradients differ");
  Cost in_place, gathering;
  for (auto _ : state) {
    in_place.measure(given, bank_scores);
    gathering.measure(given, gathered_bank_scores);
  }
  state.counters["difference"] = difference;
  state.counters["in_place_s"] = in_place.seconds;
  state.counters["gather_s"] = gathering.seconds;
  state.counters["gather_over_in_place"] = gathering.seconds / in_place.seconds;
  state.counters["in_place_MiB"] = in_place.memory;
  state.counters["gather_MiB"] = gathering.memory;
}

void draw(benchmark::State& state) {
  const at::Tensor own = at::arange(kBatch, at::kLong);
  for (auto _ : state) benchmark::DoNotOptimize(draw_bank_ids(own, state.range(0), kSamples, 1, 1));
}

BENCHMARK(bank)->ArgName("K")->Arg(4096)->Arg(16384)->Iterations(5)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(draw)->ArgName("K")->Arg(4096)->Arg(16384)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace debias
