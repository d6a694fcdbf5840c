// Batches whose inputs are on a device when they are needed: those of the next one are copied there while the step on this one runs, if
// prepare() is called once that is launched.
#pragma once

#include <c10/core/Device.h>

#include <array>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "debias/loader/batch_source.h"

namespace debias {

// Copies to one device. There are two slots, so that one batch is on its way while another is read.
class InputTransfer {
 public:
  static constexpr size_t kSlots = 2;
  virtual ~InputTransfer() = default;

  // Begins to copy tensors of the host, which may be written over as soon as this returns. Its result may be read after await().
  virtual std::vector<at::Tensor> begin(size_t slot, const std::vector<at::Tensor>& host) = 0;
  virtual void await(size_t slot) = 0;  // orders what is computed from now on after the slot's copies; need not wait itself
};

// Through pinned memory and a stream of its own; on the CPU, a plain copy.
std::unique_ptr<InputTransfer> transfer_to(c10::Device device);

inline bool copies_ahead(c10::Device device) { return !device.is_cpu(); }

// For a source without a state of its own. If the source fails, so does the call that would have returned that batch.
class AheadBatches final : public BatchSource {
 public:
  AheadBatches(std::unique_ptr<BatchSource> source, std::unique_ptr<InputTransfer> transfer);

  std::string what() const override { return source_->what(); }
  const SampleTable& samples() const override { return source_->samples(); }
  int64_t batches_per_epoch() const override { return source_->batches_per_epoch(); }
  std::vector<std::string> notes() const override { return source_->notes(); }
  void start(int64_t epoch, int64_t first = 0) override;
  const Batch* next() override;
  void prepare() override;
  double seconds_waited() const override { return source_->seconds_waited(); }

 private:
  void fetch();

  std::unique_ptr<BatchSource> source_;
  std::unique_ptr<InputTransfer> transfer_;
  Batch current_;
  std::optional<Batch> ahead_;  // none at the end of the epoch
  bool is_prepared_ = false;    // whether `ahead_` or `failure_` is the result of the next call
  size_t slot_ = 0;             // of the batch ahead
  std::exception_ptr failure_;
};

}  // namespace debias
