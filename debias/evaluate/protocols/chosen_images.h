// Which images of a split are looked at where looking at all would cost too much, or show too much.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "debias/evaluate/protocol.h"

namespace debias {

// Places of at most `count` of `images` images, ascending, drawn without replacement: the same for every protocol of a seed.
std::vector<int64_t> chosen_images(int64_t images, int64_t count, uint64_t seed);

std::vector<int64_t> at_places(const std::vector<int64_t>& values, const std::vector<int64_t>& places);

// Features of two views of each image, made as in training.

// float32 [images, 2, D] on the CPU, not normalised, of the images at these places of `dataset`, which `name` calls in the progress line.
// The views are the run's training views (eval_views.h), drawn by `seed`. The encoder is in eval mode for the call, and is handed back as
// it was. Numeric error naming the first image whose feature is not finite.
at::Tensor view_pair_features(const EvaluationInput& input, std::shared_ptr<const Dataset> dataset, const std::string& name,
                              const std::vector<int64_t>& images, uint64_t seed, Progress& progress);

}  // namespace debias
