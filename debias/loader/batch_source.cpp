#include "debias/loader/batch_source.h"

#include <ATen/ATen.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

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

namespace {

class HostTransfer final : public InputTransfer {
 public:
  std::vector<at::Tensor> begin(size_t, const std::vector<at::Tensor>& host) override {
    std::vector<at::Tensor> copies;
    for (const auto& tensor : host) copies.push_back(tensor.clone());
    return copies;
  }
  void await(size_t) override {}
};

class StreamTransfer final : public InputTransfer {
 public:
  explicit StreamTransfer(c10::Device device) : device_(device), guard_(device.type()), stream_(guard_.getStreamFromGlobalPool(device)) {
    for (size_t slot = 0; slot < kSlots; ++slot) slots_[slot].copied.emplace(device.type());
  }

  std::vector<at::Tensor> begin(size_t index, const std::vector<at::Tensor>& host) override {
    Slot& slot = slots_[index];
    if (slot.is_used) slot.copied->synchronize();  // its pinned memory is still read by the copy before the last, if at all
    slot.pinned.resize(host.size());
    slot.there.clear();
    const c10::StreamGuard on(stream_);
    for (size_t i = 0; i < host.size(); ++i) {
      at::Tensor& pinned = slot.pinned[i];
      const bool fits = pinned.defined() && pinned.sizes() == host[i].sizes() && pinned.strides() == host[i].strides() &&
                        pinned.scalar_type() == host[i].scalar_type();
      if (!fits) pinned = at::empty_like(host[i], host[i].options().pinned_memory(true));  // in the order of the host's numbers
      pinned.copy_(host[i]);
      slot.there.push_back(pinned.to(device_, /*non_blocking=*/true));
    }
    slot.copied->record(stream_);
    slot.is_used = true;
    return slot.there;
  }

  void await(size_t index) override {
    const c10::Stream reader = guard_.getStream(device_);
    slots_[index].copied->block(reader);
    for (const auto& tensor : slots_[index].there) tensor.record_stream(reader);  // its memory is not given away before that is done
  }

 private:
  struct Slot {
    std::vector<at::Tensor> pinned, there;
    std::optional<c10::Event> copied;
    bool is_used = false;
  };
  c10::Device device_;
  c10::impl::VirtualGuardImpl guard_;
  c10::Stream stream_;
  std::array<Slot, kSlots> slots_;
};

}  // namespace

std::unique_ptr<InputTransfer> transfer_to(c10::Device device) {
  if (device.is_cpu()) return std::make_unique<HostTransfer>();
  return std::make_unique<StreamTransfer>(device);
}

AheadBatches::AheadBatches(std::unique_ptr<BatchSource> source, std::unique_ptr<InputTransfer> transfer)
    : source_(std::move(source)), transfer_(std::move(transfer)) {
  if (!source_->state().empty()) throw std::logic_error("AheadBatches: a source's state is that of the batch last handed out");
}

void AheadBatches::start(int64_t epoch, int64_t first) {
  ahead_.reset();
  failure_ = nullptr;
  is_prepared_ = false;
  source_->start(epoch, first);
  prepare();
}

void AheadBatches::prepare() {
  if (!std::exchange(is_prepared_, true)) fetch();
}

const Batch* AheadBatches::next() {
  prepare();
  if (const std::exception_ptr failure = std::exchange(failure_, nullptr)) {
    is_prepared_ = false;
    std::rethrow_exception(failure);
  }
  if (!ahead_) return nullptr;
  current_ = std::move(*ahead_);
  ahead_.reset();
  is_prepared_ = false;
  transfer_->await(slot_);
  slot_ = (slot_ + 1) % InputTransfer::kSlots;
  return &current_;
}

void AheadBatches::fetch() {
  try {
    const Batch* batch = source_->next();
    if (batch == nullptr) return;
    ahead_ = *batch;
  } catch (...) {
    failure_ = std::current_exception();
    return;
  }
  std::vector<at::Tensor> host;
  for (const auto& [name, tensor] : ahead_->inputs) host.push_back(tensor);
  const std::vector<at::Tensor> there = transfer_->begin(slot_, host);
  for (size_t i = 0; i < there.size(); ++i) ahead_->inputs[i].second = there[i];
}

}  // namespace debias
