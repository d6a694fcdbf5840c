// What a run is made of, built from a recipe and an opened data set; shared by training and by its dry run.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

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

}  // namespace debias
