#include "debias/evaluate/protocols/chosen_images.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "debias/core/philox.h"
#include "debias/data/dataset.h"
#include "debias/evaluate/eval_views.h"
#include "debias/evaluate/features.h"
#include "debias/loader/loader.h"

namespace debias {
namespace {

constexpr uint16_t kSampleStep = 9;  // its own stream among those of evaluation

}  // namespace

std::vector<int64_t> chosen_images(int64_t images, int64_t count, uint64_t seed) {
  std::vector<int64_t> chosen = permutation(images, {RngDomain::kEvaluate, seed, 0, 0, 0, 0, kSampleStep});
  chosen.resize(static_cast<size_t>(std::min(images, count)));
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::vector<int64_t> at_places(const std::vector<int64_t>& values, const std::vector<int64_t>& places) {
  std::vector<int64_t> result;
  for (const int64_t place : places) result.push_back(values[place]);
  return result;
}

at::Tensor view_pair_features(const EvaluationInput& input, std::shared_ptr<const Dataset> dataset, const std::string& name,
                              const std::vector<int64_t>& images, uint64_t seed, Progress& progress) {
  const EncoderGuard guard(*input.encoder);
  input.encoder->eval();
  const OnError on_error = dataset == input.train ? input.on_error : OnError::kStop;
  const std::string split = dataset->info().split;
  const auto subset = std::make_shared<Subset>(std::move(dataset), images, split);
  Loader loader(
      subset, input.train_views.make(input.train->info().mean, input.train->info().std),
      std::make_shared<SequentialSampler>(subset->size()),
      LoaderOptions{.views = 2, .workers = input.workers, .seed = seed, .on_error = on_error, .order = ViewTarget::Order::kChannelsLast});
  std::vector<at::Tensor> first, second;
  progress.begin("two views of " + name, loader.batches_per_epoch());
  loader.start(0);
  while (const Batch* batch = loader.next()) {
    first.push_back(pooled_features(*input.encoder, batch->images().select(0, 0), input.precision));
    second.push_back(pooled_features(*input.encoder, batch->images().select(0, 1), input.precision));
    require_finite(first.back(), batch->indices, *subset, "two views of " + name);
    require_finite(second.back(), batch->indices, *subset, "two views of " + name);
    progress.advance(batch->number + 1, "");
  }
  progress.end();
  return at::stack({at::cat(first), at::cat(second)}, 1);
}

}  // namespace debias
