#include "debias/loader/batch_source.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <stdexcept>

namespace debias {

const at::Tensor& Batch::input(std::string_view name) const {
  for (const auto& [given, tensor] : inputs) {
    if (given == name) return tensor;
  }
  throw std::logic_error("a batch without '" + std::string(name) + "'");
}

FeatureBatches::FeatureBatches(std::shared_ptr<const SampleTable> samples, at::Tensor features, std::shared_ptr<const Sampler> sampler,
                               const FeatureBatchOptions& options)
    : samples_(std::move(samples)), features_(std::move(features)), sampler_(std::move(sampler)), options_(options) {}

int64_t FeatureBatches::batches_of(int64_t visits) const {
  const int64_t B = options_.batch_size;
  return options_.drop_last ? visits / B : (visits + B - 1) / B;
}

void FeatureBatches::start(int64_t epoch, int64_t first) {
  epoch_ = epoch;
  next_ = first;
  visits_ = sampler_->epoch(options_.seed, static_cast<uint64_t>(epoch));
}

const Batch* FeatureBatches::next() {
  const int64_t visits = std::ssize(visits_);
  if (next_ >= batches_of(visits)) return nullptr;
  const int64_t begin = next_ * options_.batch_size, end = std::min(begin + options_.batch_size, visits);
  batch_ = {};
  batch_.epoch = epoch_;
  batch_.number = next_++;
  for (int64_t i = begin; i < end; ++i) {
    const Visit& visit = visits_[static_cast<size_t>(i)];
    batch_.indices.push_back(visit.index);
    batch_.ids.push_back(samples_->id(visit.index));
    batch_.occurrences.push_back(visit.occurrence);
    batch_.labels.push_back(samples_->label(visit.index));
    batch_.biases.push_back(samples_->bias(visit.index));
  }
  const at::Tensor rows = features_.index_select(0, at::tensor(batch_.indices, at::TensorOptions().dtype(at::kLong)));
  batch_.inputs = {{"features", rows.unsqueeze(0).expand({options_.views, rows.size(0), rows.size(1)})}};
  return &batch_;
}

}  // namespace debias
