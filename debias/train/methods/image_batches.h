// The batches of methods that are trained on images.
#pragma once

#include <memory>

#include "debias/loader/batch_source.h"
#include "debias/ranks/ranks.h"

namespace debias {

struct Recipe;

// A usage error, naming the method, where the samples are not images.
void require_images(const Recipe& recipe, const SampleTable& samples, const char* method);

// The usage errors of views_of_images for so many ranks, as far as the recipe shows: a smaller last batch depends on the data. None for
// recipes for sentences.
void require_shares_of_batch(const Recipe& recipe, int64_t ranks);

int64_t worker_count(const Recipe& recipe, const Ranks& ranks);  // of threads that make views

// Views of the images of recipe.train_data as `views`, `sampler` and `train` define them. `samples` are images. Usage errors: fewer than
// one batch of them, batches in which batch normalisation would see one image alone, more ranks than they can share a batch among.
std::unique_ptr<BatchSource> views_of_images(const Recipe& recipe, const std::shared_ptr<const SampleTable>& samples,
                                             const Ranks& ranks = Ranks::alone());

}  // namespace debias
