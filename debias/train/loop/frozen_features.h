// Training behind a frozen encoder whose images never change: the features of each image are computed once.
#pragma once

#include <cstdint>
#include <memory>

#include "debias/core/progress.h"
#include "debias/loader/batch_source.h"
#include "debias/train/methods/method.h"

namespace debias {

constexpr int64_t kMostFeatureBytes = int64_t{1} << 30;  // of features that are held in memory

// Whether every visit of an image has the same features: the whole encoder is frozen, views have no random step and no noise or linked
// image, the method reads images through its encoder alone, and one process trains. False where the features exceed kMostFeatureBytes, or
// where images that cannot be read have substitutes.
bool has_fixed_features(const Recipe& recipe, const SampleTable& samples, const Encoder& encoder, const Ranks& ranks);

// Batches of the features of all samples, where they are fixed. Data errors: an image that cannot be read.
std::unique_ptr<BatchSource> fixed_features(const Recipe& recipe, const std::shared_ptr<const SampleTable>& samples, Encoder& encoder,
                                            c10::Device device, Progress& progress);

}  // namespace debias
