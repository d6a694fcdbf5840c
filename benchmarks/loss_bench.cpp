// Forward and backward of objectives by the tile engine and by the plain composition, B samples of two views, D = 128, ten classes. The two
// must agree in value and gradient before either is timed.
#include <ATen/ATen.h>
#include <benchmark/benchmark.h>

#include "debias/core/registry.h"
#include "debias/losses/objective.h"

namespace debias {
namespace {

constexpr int64_t kDim = 128;

struct Problem {
  std::unique_ptr<Objective> objective;
  ObjectiveInput input;
};

Problem problem(const std::string& name, int64_t samples) {
  at::manual_seed(1);
  Problem made;
  made.objective = find_entry(objective_registry(), name, "objective").make(Config::map(), {});
  const at::Tensor z = at::randn({samples, 1, kDim}) + at::randn({samples, 2, kDim});
  made.input.z = z / z.norm(2, -1, true);
  made.input.labels = at::randint(10, {samples}, at::kLong);
  made.input.bias = at::randint(10, {samples}, at::kLong);
  return made;
}

std::pair<double, at::Tensor> evaluated(const Problem& given, Engine engine) {
  ObjectiveInput input = given.input;
  input.engine = engine;
  input.z = given.input.z.clone().requires_grad_(true);
  const ObjectiveResult result = (*given.objective)(input);
  result.value.backward();
  return {result.value.item<double>(), input.z.grad()};
}

void loss(benchmark::State& state, const std::string& name, Engine engine) {
  const Problem small = problem(name, 200), given = problem(name, state.range(0));
  const auto [fused, fused_gradient] = evaluated(small, Engine::kFused);
  const auto [dense, dense_gradient] = evaluated(small, Engine::kDense);
  if (std::abs(fused - dense) > 2e-5 * std::max(1.0, std::abs(dense))) return state.SkipWithError("the engines' values differ");
  const double difference = (fused_gradient - dense_gradient).norm().item<double>();
  if (difference > 1e-3 * dense_gradient.norm().item<double>()) return state.SkipWithError("the engines' gradients differ");
  for (auto _ : state) benchmark::DoNotOptimize(evaluated(given, engine).first);
}

void register_all() {
  for (const char* name :
       {"infonce", "debiased_negatives", "debiased_positives", "hard_negatives", "bayesian", "supcon", "eps_supinfonce", "fairkl"}) {
    const bool ranked = std::string(name) == "bayesian";
    for (const auto& [engine, word] : {std::pair{Engine::kFused, "fused"}, {Engine::kDense, "dense"}}) {
      benchmark::RegisterBenchmark(fmt::format("loss/{}/{}", name, word).c_str(),
                                   [name = std::string(name), engine = engine](benchmark::State& state) { loss(state, name, engine); })
          ->ArgName("B")
          ->Arg(ranked ? 256 : 1024)
          ->Unit(benchmark::kMillisecond)
          ->UseRealTime();
    }
  }
}

const bool registered = (register_all(), true);

}  // namespace
}  // namespace debias
