// Options of a loader of images.
#pragma once

#include <cstdint>
#include <memory>

#include "debias/augment/view_target.h"
#include "debias/core/options.h"
#include "debias/data/decode.h"
#include "debias/data/on_error.h"
#include "debias/loader/linked_images.h"

namespace debias {

class LoaderOptions {
 public:
  DEBIAS_OPTION(LoaderOptions, int64_t, batch_size, 256)
  DEBIAS_OPTION(LoaderOptions, int64_t, views, 1)
  DEBIAS_OPTION(LoaderOptions, bool, drop_last, false)
  DEBIAS_OPTION(LoaderOptions, int64_t, workers, 1)   // 0: in the calling thread
  DEBIAS_OPTION(LoaderOptions, int64_t, prefetch, 2)  // batches ready ahead of the consumer
  DEBIAS_OPTION(LoaderOptions, uint64_t, seed, 1)
  DEBIAS_OPTION(LoaderOptions, double, noise, 0.0)                              // share of second views made from an image of another class
  DEBIAS_OPTION(LoaderOptions, std::shared_ptr<const LinkedImages>, links, {})  // second views are made of an image of the same group
  DEBIAS_OPTION(LoaderOptions, OnError, on_error, OnError::kStop)
  DEBIAS_OPTION(LoaderOptions, Decode, decode, Decode::kExact)
  DEBIAS_OPTION(LoaderOptions, int64_t, cache_megabytes, 1024)  // data sets whose decoded pixels fit stay in memory
  DEBIAS_OPTION(LoaderOptions, int64_t, rank, 0)                // makes the rows [B rank / ranks, B (rank + 1) / ranks) of a batch of B
  DEBIAS_OPTION(LoaderOptions, int64_t, ranks, 1)
  // Memory format of views, so that a network of this format copies nothing: their shape is [V, B, C, H, W] all the same.
  DEBIAS_OPTION(LoaderOptions, ViewTarget::Order, order, ViewTarget::Order::kChannelsFirst)
  DEBIAS_OPTION(LoaderOptions, ViewTarget::Type, type, ViewTarget::Type::kFloat32)

  void check() const;  // a usage error where a value is out of range
};

}  // namespace debias
