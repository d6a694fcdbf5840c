#include "debias/train/image_batches.h"

#include <algorithm>

#include "debias/core/cpu_share.h"
#include "debias/core/error.h"
#include "debias/loader/loader.h"
#include "debias/train/recipe.h"
#include "debias/train/sampling.h"

namespace debias {
namespace {

int64_t worker_count(const Recipe& recipe) {
  if (recipe.train.workers()) return *recipe.train.workers();
  return std::clamp<int64_t>(available_cpus() / 2, 1, 16);
}

// Batch normalisation in training mode has nothing to normalise one row over.
void require_two_rows_a_pass(const Recipe& recipe, int64_t images) {
  const int64_t batch = recipe.train.batch_size(), views = recipe.views.forward() == Forward::kJoint ? recipe.views.count() : 1;
  const auto smallest_part = [](int64_t whole, int64_t part) { return whole % part == 0 ? std::min(whole, part) : whole % part; };
  const int64_t last = recipe.train.drop_last() ? batch : smallest_part(images, batch);
  int64_t pass = std::min(batch, last);
  if (recipe.train.micro_batch()) {
    pass = std::min(smallest_part(batch, *recipe.train.micro_batch()), smallest_part(last, *recipe.train.micro_batch()));
  }
  if (pass * views >= 2) return;
  throw usage_error("train: batch_size {}{}{} makes the network see one image alone, which batch normalisation cannot take; change one",
                    batch, recipe.train.micro_batch() ? fmt::format(" with micro_batch {}", *recipe.train.micro_batch()) : "",
                    last < batch ? fmt::format(" and drop_last: false ({} images)", images) : "");
}

}  // namespace

void require_images(const Recipe& recipe, const SampleTable& samples, const char* method) {
  if (dynamic_cast<const Dataset*>(&samples) != nullptr) return;
  throw usage_error("{}method '{}' is trained on images, the samples of data set '{}' are none; choose another method or data set",
                    recipe.method.prefix(), method, samples.info().name);
}

std::unique_ptr<BatchSource> views_of_images(const Recipe& recipe, const std::shared_ptr<const SampleTable>& samples) {
  const auto dataset = std::dynamic_pointer_cast<const Dataset>(samples);
  const DatasetInfo& info = samples->info();
  auto loader = std::make_unique<Loader>(dataset, ViewPipeline::from_config(recipe.views_section, info.mean, info.std, views_keys()),
                                         make_sampler(recipe, *samples),
                                         LoaderOptions()
                                             .batch_size(recipe.train.batch_size())
                                             .views(recipe.views.count())
                                             .drop_last(recipe.train.drop_last())
                                             .workers(worker_count(recipe))
                                             .prefetch(recipe.train.prefetch())
                                             .seed(recipe.seed)
                                             .noise(recipe.views.noise())
                                             .on_error(recipe.on_error)
                                             .decode(recipe.decode));
  require_two_rows_a_pass(recipe, dataset->size());
  return loader;
}

}  // namespace debias
