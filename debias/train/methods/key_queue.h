// The newest keys of a run, with the samples and labels that they are of: a ring of rows.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "debias/core/safetensors.h"

namespace debias {

class KeyQueue {
 public:
  // `size` random rows of unit norm, a function of `seed`, of no sample and no class (-1).
  KeyQueue(int64_t size, int64_t dim, uint64_t seed, c10::Device device);

  // Rows [n, D] take the place of the oldest, in place: after the backward pass that reads them. n divides the size.
  void add(const at::Tensor& rows, const at::Tensor& samples, const at::Tensor& labels);

  const at::Tensor& rows() const { return rows_; }        // float32 [K, D]
  const at::Tensor& samples() const { return samples_; }  // int64 [K]
  const at::Tensor& labels() const { return labels_; }

  std::vector<std::pair<std::string, at::Tensor>> state() const;  // "queue.rows", ".samples", ".labels", ".next"
  void load(const SafetensorsFile& file);                         // data errors: missing, or of another size

 private:
  at::Tensor rows_, samples_, labels_;
  int64_t next_ = 0;
};

}  // namespace debias
