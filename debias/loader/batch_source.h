// Source of training batches, such as views of images (loader.h).
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <array>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "debias/core/safetensors.h"
#include "debias/data/sample_table.h"
#include "debias/data/sampler.h"

namespace debias {

// One batch: what the network eats, and what every batch has whatever it is made of.
struct Batch {
  // Inputs of the network, by name, each [V, B, ...] and view-major: "images" [V, B, C, H, W] alone, in float32 or as
  // the loader gives them, or a few (words and lengths; observations, actions and rewards). Valid until the source's next batch. With
  // several ranks: [V, share, ...], the rows from first_row on.
  std::vector<std::pair<std::string, at::Tensor>> inputs;

  std::vector<int64_t> ids;          // [B] source ids
  std::vector<int64_t> occurrences;  // [B]
  std::vector<int64_t> labels;       // [B], kUnknown where not known
  std::vector<int64_t> biases;       // [B]
  std::vector<int64_t> indices;      // [B] into the source's samples
  int64_t epoch = 0;
  int64_t number = 0;                         // within the epoch, from 0
  int64_t first_row = 0;                      // that `inputs` have
  int64_t substituted = 0;                    // rows and noise views whose image could not be read
  std::map<int64_t, std::string> unreadable;  // why not, by index; unreadable substitutes, too

  // Throws std::logic_error if the source has no such name: a method of another modality.
  const at::Tensor& input(std::string_view name) const;
  const at::Tensor& images() const { return input("images"); }
};

// Batches come in epochs. Batch k of epoch e is a function of what the source was made from, of e, k and of state(), so that a run that
// is resumed sees the same: how many threads make batches, and how many ahead, changes nothing.
class BatchSource {
 public:
  virtual ~BatchSource() = default;

  virtual std::string what() const = 0;  // what one waits for, in a word for the log: "views"
  virtual const SampleTable& samples() const = 0;
  virtual int64_t batches_per_epoch() const = 0;                 // at least 1
  virtual std::vector<std::string> notes() const { return {}; }  // lines that warn of samples that no batch has

  // Starts an epoch at batch `first`; stops whatever was under way.
  virtual void start(int64_t epoch, int64_t first = 0) = 0;
  // The next batch of the epoch, or null at its end. The pointer is valid until the next call of next() or start().
  virtual const Batch* next() = 0;
  // Gets the batch after that under way, where it costs the caller time that a device could use; next() does it where nobody did.
  virtual void prepare() {}
  virtual double seconds_waited() const { return 0; }  // by the consumer, since construction

  // State in a checkpoint of a source whose batches depend on more than epoch and number (a buffer of seen samples), as it is once
  // the step on the batch last handed out is done; names begin with "source.". load() comes before start(); data errors where a tensor is
  // missing or misshapen.
  virtual std::vector<std::pair<std::string, at::Tensor>> state() const { return {}; }
  virtual void load(const SafetensorsFile& /*file*/) {}
};

// Batches of features that were computed before, in place of the views of images.
struct FeatureBatchOptions {
  int64_t batch_size = 256;
  int64_t views = 1;
  bool drop_last = false;
  uint64_t seed = 1;
};

// The visits of a Loader with the same sampler and seed. Input "features": float32 [V, B, D], the same features in each view.
class FeatureBatches final : public BatchSource {
 public:
  // features: float32 [N, D], row i of sample i.
  FeatureBatches(std::shared_ptr<const SampleTable> samples, at::Tensor features, std::shared_ptr<const Sampler> sampler,
                 const FeatureBatchOptions& options);

  std::string what() const override { return "features"; }
  const SampleTable& samples() const override { return *samples_; }
  int64_t batches_per_epoch() const override { return batches_of(std::ssize(sampler_->epoch(options_.seed, 0))); }
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

// Batches whose inputs are on a device when they are needed: those of the next one are copied there while the step on this one runs, if
// prepare() is called once that is launched.

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
