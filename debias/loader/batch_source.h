// Source of training batches, such as views of images (loader.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "debias/core/safetensors.h"
#include "debias/data/sample_table.h"
#include "debias/loader/batch.h"

namespace debias {

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

}  // namespace debias
