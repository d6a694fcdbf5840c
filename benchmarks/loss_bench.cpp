// Forward and backward of objectives by the tile engine, with rows in float32 and in bfloat16, and by the plain composition in float32: B
// samples of two views, D = 128, ten classes. Value and gradient must agree with the plain composition before anything is timed.
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

struct Way {
  Engine engine;
  at::ScalarType type = at::kFloat;
};

std::pair<double, at::Tensor> evaluated(const Problem& given, Way way) {
  ObjectiveInput input = given.input;
  input.engine = way.engine;
  input.z = given.input.z.to(way.type, false, true).requires_grad_(true);
  const ObjectiveResult result = (*given.objective)(input);
  result.value.backward();
  return {result.value.item<double>(), input.z.grad()};
}

void loss(benchmark::State& state, const std::string& name, Way way) {
  const Problem small = problem(name, 200), given = problem(name, state.range(0));
  const auto [value, gradient] = evaluated(small, way);
  const auto [dense, dense_gradient] = evaluated(small, {Engine::kDense});
  const bool half = way.type == at::kBFloat16;
  if (std::abs(value - dense) > (half ? 1e-2 : 2e-5) * std::max(1.0, std::abs(dense))) return state.SkipWithError("the values differ");
  const double difference = (gradient - dense_gradient).norm().item<double>();
  if (difference > (half ? 2e-2 : 1e-3) * dense_gradient.norm().item<double>()) return state.SkipWithError("the gradients differ");
  for (auto _ : state) benchmark::DoNotOptimize(evaluated(given, way).first);
}

void register_all() {
  for (const char* name :
       {"infonce", "debiased_negatives", "debiased_positives", "hard_negatives", "bayesian", "supcon", "eps_supinfonce", "fairkl"}) {
    const bool ranked = std::string(name) == "bayesian";
    for (const auto& [way, word] :
         {std::pair{Way{Engine::kFused}, "fused"}, {Way{Engine::kFused, at::kBFloat16}, "fused_bf16"}, {Way{Engine::kDense}, "dense"}}) {
      benchmark::RegisterBenchmark(fmt::format("loss/{}/{}", name, word).c_str(),
                                   [name = std::string(name), way = way](benchmark::State& state) { loss(state, name, way); })
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
