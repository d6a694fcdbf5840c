// Views per second of forward and backward through an encoder: ResNet-18, CIFAR stem, 32x32, batch 512, in both layouts.
#include <ATen/ATen.h>
#include <benchmark/benchmark.h>

#include "debias/core/config.h"
#include "debias/encoders/encoder.h"

namespace debias {
namespace {

constexpr int64_t kBatch = 512;

void forward_backward(benchmark::State& state) {
  Config section = Config::map();
  section.set("name", Config::string("resnet18"));
  section.set("width", Config::integer(state.range(0)));
  const auto encoder = read_encoder(section).make(3, 1);
  const auto layout = state.range(1) != 0 ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
  const at::Tensor images = at::sin(at::arange(kBatch * 3 * 32 * 32, at::kFloat)).view({kBatch, 3, 32, 32}).contiguous(layout);
  if (!at::isfinite(encoder->forward(images)).all().item<bool>()) state.SkipWithError("features are not finite");
  for (auto _ : state) {
    encoder->zero_grad();
    encoder->forward(images).square().sum().backward();
  }
  state.counters["views/s"] = benchmark::Counter(static_cast<double>(state.iterations() * kBatch), benchmark::Counter::kIsRate);
}

void initial_weights(benchmark::State& state) {
  Config section = Config::map();
  section.set("name", Config::string("resnet50"));
  for (auto _ : state) benchmark::DoNotOptimize(read_encoder(section).make(3, 1));
}

BENCHMARK(forward_backward)
    ->ArgNames({"width", "channels_last"})
    ->ArgsProduct({{8, 16}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK(initial_weights)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace debias
