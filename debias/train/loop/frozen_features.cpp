#include "debias/train/loop/frozen_features.h"

#include <ATen/ATen.h>

#include "debias/encoders/folded_convolution.h"
#include "debias/loader/batch_source.h"
#include "debias/loader/loader.h"
#include "debias/runtime/precision.h"
#include "debias/train/methods/image_batches.h"
#include "debias/train/methods/sampling.h"
#include "debias/train/recipe/recipe.h"

namespace debias {
namespace {

constexpr int64_t kImagesOfPass = 256;

// float32 [N, D] on the CPU, in passes of consecutive images: the same bytes in a resumed run.
at::Tensor features_of_images(const SampleTable& samples, Loader& images, Encoder& encoder, const ForwardOptions& options,
                              Progress& progress) {
  const at::NoGradGuard no_grad;
  const KeptWeights kept_weights;
  at::Tensor features = at::empty({samples.size(), encoder.feature_dim()}, at::kFloat);
  progress.begin("features", samples.size());
  int64_t done = 0;
  images.start(0);
  while (const Batch* batch = images.next()) {
    at::Tensor input = batch->images()[0].to(options.device);
    if (options.channels_last) input = input.contiguous(at::MemoryFormat::ChannelsLast);
    const Autocast autocast(options.device.type(), options.precision);
    const int64_t rows = input.size(0);
    features.narrow(0, done, rows).copy_(encoder.forward(input));
    progress.advance(done += rows, "");
  }
  progress.end();
  return features;
}

}  // namespace

bool has_fixed_features(const Recipe& recipe, const SampleTable& samples, const Encoder& encoder, const Ranks& ranks) {
  if (!method_of(recipe).trains_on_features || !encoder.is_frozen() || !ranks.is_alone() || samples.images() == nullptr) return false;
  if (recipe.on_error != OnError::kStop || recipe.views.noise > 0 || recipe.must_link || recipe.groups == GroupMates::kPositive)
    return false;
  if (samples.size() > kMostFeatureBytes / static_cast<int64_t>(sizeof(float)) / encoder.feature_dim()) return false;
  return !recipe.view_steps.is_random();
}

std::unique_ptr<BatchSource> fixed_features(const Recipe& recipe, const std::shared_ptr<const SampleTable>& samples, Encoder& encoder,
                                            c10::Device device, Progress& progress) {
  Loader images(images_of(samples), recipe.view_steps.make(samples->info().mean, samples->info().std),
                std::make_shared<SequentialSampler>(samples->size()),
                LoaderOptions{.batch_size = kImagesOfPass,
                              .workers = worker_count(recipe, Ranks::alone()),
                              .prefetch = recipe.train.prefetch,
                              .seed = recipe.seed,
                              .decode = recipe.decode});
  const ForwardOptions options = {recipe.views.forward, recipe.train.precision, recipe.train.channels_last, device};
  return std::make_unique<FeatureBatches>(
      samples, features_of_images(*samples, images, encoder, options, progress), make_sampler(recipe, *samples),
      FeatureBatchOptions{
          .batch_size = recipe.train.batch_size, .views = recipe.views.count, .drop_last = recipe.train.drop_last, .seed = recipe.seed});
}

}  // namespace debias
