#include "debias/train/methods/key_queue.h"

#include <ATen/ATen.h>

#include "debias/core/error.h"
#include "debias/core/philox.h"
#include "debias/encoders/state.h"
#include "debias/runtime/unit_rows.h"
#include "debias/train/named_tensor.h"

namespace debias {

KeyQueue::KeyQueue(int64_t size, int64_t dim, uint64_t seed, c10::Device device) {
  at::Tensor start = at::empty({size, dim}, at::kFloat);
  for (int64_t row = 0; row < size; ++row) {
    Random random(RngKey{.domain = RngDomain::kQueue, .seed = seed, .sample = static_cast<uint64_t>(row)});
    float* out = start.data_ptr<float>() + row * dim;
    for (int64_t i = 0; i < dim; ++i) out[i] = static_cast<float>(random.normal());
  }
  rows_ = unit_rows(start).to(device);
  samples_ = at::full({size}, -1, at::TensorOptions(at::kLong).device(device));
  labels_ = samples_.clone();
}

void KeyQueue::add(const at::Tensor& rows, const at::Tensor& samples, const at::Tensor& labels) {
  const int64_t end = next_ + rows.size(0);
  rows_.slice(0, next_, end).copy_(rows);
  samples_.slice(0, next_, end).copy_(samples);
  labels_.slice(0, next_, end).copy_(labels);
  next_ = end % rows_.size(0);
}

std::vector<std::pair<std::string, at::Tensor>> KeyQueue::state() const {
  return {
      {"queue.rows", rows_}, {"queue.samples", samples_}, {"queue.labels", labels_}, {"queue.next", at::scalar_tensor(next_, at::kLong)}};
}

void KeyQueue::load(const SafetensorsFile& file) {
  const at::Tensor next = named_tensor(file, "queue.next", at::scalar_tensor(0, at::kLong));
  const at::Tensor rows = named_tensor(file, "queue.rows", rows_), samples = named_tensor(file, "queue.samples", samples_),
                   labels = named_tensor(file, "queue.labels", labels_);
  const int64_t place = next.item<int64_t>();
  if (place < 0 || place >= rows_.size(0))
    throw data_error("'{}': queue.next is {}, the queue has {} rows; the file was altered", file.path(), place, rows_.size(0));
  next_ = place;
  rows_ = rows;
  samples_ = samples;
  labels_ = labels;
}

}  // namespace debias
