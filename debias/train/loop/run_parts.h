// What a run is made of, built from a recipe and an opened data set; shared by training and by its dry run.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "debias/core/progress.h"
#include "debias/loader/batch_source.h"
#include "debias/optim/schedule.h"
#include "debias/runtime/device.h"
#include "debias/train/loop/trainer.h"
#include "debias/train/methods/method.h"
#include "debias/train/methods/optimizers.h"

namespace debias {

struct RunParts {
  DeviceChoice device;
  Model model;
  std::unique_ptr<Optimizers> optimizers;
  std::unique_ptr<Schedule> schedule;
  std::unique_ptr<BatchSource> source;
  std::unique_ptr<Method> method;
  std::vector<int64_t> linked;  // groups of data.must_link (linked_samples.h); empty: none
};

// Sets the tensor library's thread count. Usage errors: a data set smaller than one batch, an option out of place, more ranks than they
// can share a batch among.
RunParts make_run_parts(const Recipe& recipe, const std::shared_ptr<const SampleTable>& dataset, const Ranks& ranks = Ranks::alone());

// Training behind a frozen encoder whose images never change: the features of each image are computed once.
constexpr int64_t kMostFeatureBytes = int64_t{1} << 30;  // of features that are held in memory

// Whether every visit of an image has the same features: the whole encoder is frozen, views have no random step and no noise or linked
// image, the method reads images through its encoder alone, and one process trains. False where the features exceed kMostFeatureBytes, or
// where images that cannot be read have substitutes.
bool has_fixed_features(const Recipe& recipe, const SampleTable& samples, const Encoder& encoder, const Ranks& ranks);

// Batches of the features of all samples, where they are fixed. Data errors: an image that cannot be read.
std::unique_ptr<BatchSource> fixed_features(const Recipe& recipe, const std::shared_ptr<const SampleTable>& samples, Encoder& encoder,
                                            c10::Device device, Progress& progress);

}  // namespace debias
