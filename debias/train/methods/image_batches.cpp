#include "debias/train/methods/image_batches.h"

#include <algorithm>

#include "debias/core/error.h"
#include "debias/encoders/encoder.h"
#include "debias/loader/loader.h"
#include "debias/train/methods/sampling.h"
#include "debias/train/recipe/linked_samples.h"
#include "debias/train/recipe/recipe.h"

namespace debias {
namespace {

constexpr int64_t kCacheMegabytes = 1024;  // of decoded images, on a machine

int64_t views_a_pass(const Recipe& recipe) { return recipe.views.forward == Forward::kJoint ? recipe.views.count : 1; }

// As require_two_rows_a_pass(), of the share of a batch that each of several ranks has; one row is enough where they normalise together.
// `last`: the size of an epoch's last batch.
void require_shares(const Recipe& recipe, int64_t last, int64_t ranks) {
  const int64_t batch = recipe.train.batch_size, W = ranks, views = views_a_pass(recipe);
  if (batch < W) throw usage_error("train: {} ranks share batches of {} images; start at most {}, or raise batch_size", W, batch, batch);
  for (const int64_t share : {batch / W, (batch + W - 1) / W, last / W, (last + W - 1) / W}) {
    const int64_t part = recipe.train.micro_batch ? std::min(share, *recipe.train.micro_batch) : share;
    const int64_t pass = part > 0 && share % part != 0 ? share % part : part;
    if (pass * views >= (recipe.train.joins_norm() ? 1 : 2)) continue;
    throw usage_error(
        "train: {} ranks share a batch of {}{}: one sees {} image{} in a pass, which batch normalisation cannot take; start fewer, or "
        "raise batch_size",
        W, last < batch && share <= (last + W - 1) / W ? last : batch,
        recipe.train.micro_batch ? fmt::format(" in parts of {}", *recipe.train.micro_batch) : "", pass == 0 ? "no" : "one",
        pass == 0 ? "" : " alone");
  }
}

int64_t last_batch(const Recipe& recipe, int64_t images) {
  const int64_t batch = recipe.train.batch_size;
  return recipe.train.drop_last || images % batch == 0 ? batch : images % batch;
}

// Batch normalisation in training mode has nothing to normalise one row over.
void require_two_rows_a_pass(const Recipe& recipe, int64_t images, const Ranks& ranks) {
  const int64_t batch = recipe.train.batch_size, views = views_a_pass(recipe);
  if (!ranks.is_alone()) return require_shares(recipe, last_batch(recipe, images), ranks.size());
  const auto smallest_part = [](int64_t whole, int64_t part) { return whole % part == 0 ? std::min(whole, part) : whole % part; };
  const int64_t last = recipe.train.drop_last ? batch : smallest_part(images, batch);
  int64_t pass = std::min(batch, last);
  if (recipe.train.micro_batch) {
    pass = std::min(smallest_part(batch, *recipe.train.micro_batch), smallest_part(last, *recipe.train.micro_batch));
  }
  if (pass * views >= 2) return;
  throw usage_error("train: batch_size {}{}{} makes the network see one image alone, which batch normalisation cannot take; change one",
                    batch, recipe.train.micro_batch ? fmt::format(" with micro_batch {}", *recipe.train.micro_batch) : "",
                    last < batch ? fmt::format(" and drop_last: false ({} images)", images) : "");
}

ViewTarget::Order order_of(const Recipe& recipe) {
  return recipe.train.channels_last ? ViewTarget::Order::kChannelsLast : ViewTarget::Order::kChannelsFirst;
}

// Autocast would round them in the network's first step.
ViewTarget::Type type_of(const Recipe& recipe) {
  return recipe.train.precision == Precision::kBf16 ? ViewTarget::Type::kBfloat16 : ViewTarget::Type::kFloat32;
}

std::shared_ptr<const LinkedImages> views_of_groups(const Recipe& recipe, const SampleTable& samples) {
  std::vector<int64_t> groups;
  if (recipe.must_link && recipe.must_link->relation == LinkRelation::kPositive) groups = linked_groups(*recipe.must_link, samples);
  if (recipe.groups == GroupMates::kPositive) {
    if (recipe.views.count < 2) throw usage_error("data: groups: positive needs a second view; set views.count: 2");
    if (recipe.views.noise > 0)
      throw usage_error("data: groups: positive and views: noise both choose the image of a second view; leave one out");
    groups = joined_groups(groups, grouped_samples(samples));
  }
  return groups.empty() ? nullptr : std::make_shared<const LinkedImages>(std::move(groups));
}

}  // namespace

int64_t worker_count(const Recipe& recipe, const Ranks& ranks) {
  if (recipe.train.workers) return *recipe.train.workers;
  return std::clamp<int64_t>(ranks.cpus() / 2, 1, 16);
}

void require_shares_of_batch(const Recipe& recipe, int64_t ranks) {
  if (!recipe.encoder.entry->reads_words) require_shares(recipe, recipe.train.batch_size, ranks);
}

void require_images(const Recipe& recipe, const SampleTable& samples, const char* method) {
  const EncoderEntry& encoder = *recipe.encoder.entry;
  if (encoder.reads_words) {
    throw usage_error("{}method '{}' needs an encoder of images, '{}' is one of sentences; choose another, or method: quick_thoughts",
                      recipe.encoder.where, method, encoder.name);
  }
  if (samples.images() != nullptr) return;
  throw usage_error("{}method '{}' is trained on images, and the samples of data set '{}' are not; choose another method or data set",
                    recipe.method.where, method, samples.info().name);
}

std::unique_ptr<BatchSource> views_of_images(const Recipe& recipe, const std::shared_ptr<const SampleTable>& samples, const Ranks& ranks) {
  const auto dataset = images_of(samples);
  const DatasetInfo& info = samples->info();
  auto loader = std::make_unique<Loader>(dataset, recipe.view_steps.make(info.mean, info.std), make_sampler(recipe, *samples),
                                         LoaderOptions{.batch_size = recipe.train.batch_size,
                                                       .views = recipe.views.count,
                                                       .drop_last = recipe.train.drop_last,
                                                       .workers = worker_count(recipe, ranks),
                                                       .prefetch = recipe.train.prefetch,
                                                       .seed = recipe.seed,
                                                       .noise = recipe.views.noise,
                                                       .links = views_of_groups(recipe, *samples),
                                                       .on_error = recipe.on_error,
                                                       .decode = recipe.decode,
                                                       .cache_megabytes = kCacheMegabytes / ranks.place().local_size,
                                                       .rank = ranks.rank(),
                                                       .ranks = ranks.size(),
                                                       .order = order_of(recipe),
                                                       .type = type_of(recipe)});
  require_two_rows_a_pass(recipe, dataset->size(), ranks);
  return loader;
}

}  // namespace debias
