// Batches of features that were computed before, in place of the views of images.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "debias/core/options.h"
#include "debias/data/sampler.h"
#include "debias/loader/batch_source.h"

namespace debias {

class FeatureBatchOptions {
 public:
  DEBIAS_OPTION(FeatureBatchOptions, int64_t, batch_size, 256)
  DEBIAS_OPTION(FeatureBatchOptions, int64_t, views, 1)
  DEBIAS_OPTION(FeatureBatchOptions, bool, drop_last, false)
  DEBIAS_OPTION(FeatureBatchOptions, uint64_t, seed, 1)
};

// The visits of a Loader with the same sampler and seed. Input "features": float32 [V, B, D], the same features in each view.
class FeatureBatches final : public BatchSource {
 public:
  // features: float32 [N, D], row i of sample i.
  FeatureBatches(std::shared_ptr<const SampleTable> samples, at::Tensor features, std::shared_ptr<const Sampler> sampler,
                 const FeatureBatchOptions& options);

  std::string what() const override { return "features"; }
  const SampleTable& samples() const override { return *samples_; }
  int64_t batches_per_epoch() const override { return batches_of(std::ssize(sampler_->epoch(options_.seed(), 0))); }
  void start(int64_t epoch, int64_t first = 0) override;
  const Batch* next() override;

 private:
  int64_t batches_of(int64_t visits) const;

  std::shared_ptr<const SampleTable> samples_;
  at::Tensor features_;
  std::shared_ptr<const Sampler> sampler_;
  FeatureBatchOptions options_;
  std::vector<Visit> visits_;
  Batch batch_;
  int64_t epoch_ = 0, next_ = 0;
};

}  // namespace debias
