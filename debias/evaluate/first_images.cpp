#include "debias/evaluate/first_images.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "debias/core/error.h"
#include "debias/data/subset.h"
#include "debias/evaluate/encoder_guard.h"
#include "debias/loader/loader.h"

namespace debias {

void try_images(Encoder& encoder, std::shared_ptr<const Dataset> dataset, const ViewPipeline& eval_views, const ExtractOptions& options) {
  constexpr int64_t kTried = 32, kEncoded = 2;
  const int64_t N = dataset->size(), count = std::min(N, kTried);
  if (N == 0) throw data_error("data set '{}' ({}) has no images", dataset->info().name, dataset->info().split);
  std::vector<int64_t> places;
  for (int64_t i = 0; i < count; ++i) places.push_back(count == 1 ? 0 : i * (N - 1) / (count - 1));
  const std::string split = dataset->info().split;
  Loader loader(std::make_shared<Subset>(std::move(dataset), std::move(places), split), eval_views,
                std::make_shared<SequentialSampler>(count),
                LoaderOptions{.batch_size = kTried,
                              .workers = 0,
                              .on_error = options.on_error,
                              .cache_megabytes = 0,
                              .order = ViewTarget::Order::kChannelsLast});
  loader.start(0);
  const Batch* batch = loader.next();
  const EncoderGuard guard(encoder);
  encoder.eval();
  pooled_features(encoder, batch->images().select(0, 0).narrow(0, 0, std::min(count, kEncoded)), options.precision);
}

}  // namespace debias
