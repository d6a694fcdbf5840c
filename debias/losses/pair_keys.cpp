#include "debias/losses/pair_keys.h"

#include <ATen/ATen.h>

#include "debias/core/error.h"

namespace debias {
namespace {

at::Tensor checked(const at::Tensor& keys, int64_t samples, const at::Device& device, const char* what, const char* objective) {
  if (!keys.defined()) return keys;
  if (keys.scalar_type() != at::kLong || keys.dim() != 1 || keys.size(0) != samples) {
    throw data_error("{}: {}: expected int64 of shape [{}], one per sample, found {} of shape {}", objective, what, samples,
                     c10::toString(keys.scalar_type()), c10::str(keys.sizes()));
  }
  return keys.to(device);
}

at::Tensor tiled(const at::Tensor& keys, int64_t views) { return keys.defined() ? keys.repeat({views}) : keys; }

}  // namespace

PairKeys pair_keys(const ObjectiveInput& input, int64_t views, const char* objective) {
  const int64_t samples = input.z.size(0);
  const at::Device device = input.z.device();
  at::Tensor sample = checked(input.samples, samples, device, "sample keys", objective);
  if (!sample.defined()) {
    sample = at::arange(samples, at::TensorOptions(at::kLong).device(device));
  } else if (input.keys.defined() || input.vouched) {
    // With keys, several anchors of one sample are as good as one.
  } else if (const at::Tensor sorted = std::get<0>(sample.sort()); sorted.slice(0, 1).eq(sorted.slice(0, 0, -1)).any().item<bool>()) {
    throw data_error("{}: sample keys: two samples of the batch have one key; number the occurrences of a repeated sample", objective);
  }
  return {tiled(sample, views), tiled(checked(input.labels, samples, device, "labels", objective), views),
          tiled(checked(input.bias, samples, device, "bias", objective), views)};
}

void refuse_keys(const ObjectiveInput& input, const char* objective) {
  if (!input.keys.defined() && !input.positives.defined()) return;
  throw usage_error(
      "{}: compares rows of a batch with each other and takes no keys; choose an objective that does (debias list objectives)", objective);
}

}  // namespace debias
