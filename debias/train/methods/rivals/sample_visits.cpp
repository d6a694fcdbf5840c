#include "debias/train/methods/rivals/sample_visits.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <limits>
#include <utility>

#include "debias/train/named_tensor.h"

namespace debias {

at::Tensor mean_of_sample(const at::Tensor& indices, const at::Tensor& values) {
  const at::Tensor same = indices.unsqueeze(1).eq(indices.unsqueeze(0)).to(values.scalar_type());
  return same.mv(values) / same.sum(1);
}

RunningLosses::RunningLosses(std::string name, const SampleTable& dataset, double momentum, at::Device device)
    : name_(std::move(name)),
      momentum_(momentum),
      classes_(static_cast<int64_t>(dataset.info().class_names.size())),
      labels_(at::empty({dataset.size()}, at::kLong)),
      losses_(at::full({dataset.size()}, -1.0, at::TensorOptions().dtype(at::kFloat).device(device))) {
  for (int64_t i = 0; i < dataset.size(); ++i) labels_.data_ptr<int64_t>()[i] = dataset.label(i);
  labels_ = labels_.to(device);
}

at::Tensor RunningLosses::relative(const at::Tensor& indices, const at::Tensor& losses) {
  const at::NoGradGuard no_grad;
  const at::Tensor visit = mean_of_sample(indices, losses.detach().to(at::kFloat)), before = losses_.index_select(0, indices);
  const at::Tensor after = at::where(before.lt(0), visit, momentum_ * before + (1 - momentum_) * visit);
  next_ = losses_.index_copy(0, indices, after);
  const at::Tensor largest = at::zeros({classes_}, next_.options()).scatter_reduce(0, labels_, next_, "amax");
  return after / largest.index_select(0, labels_.index_select(0, indices)).clamp_min(std::numeric_limits<float>::min());
}

void RunningLosses::commit() {
  if (next_.defined()) losses_ = std::exchange(next_, at::Tensor());
}

void RunningLosses::load(const SafetensorsFile& file) { losses_ = named_tensor(file, name_, losses_); }

at::Tensor relative_difficulty(const at::Tensor& biased, const at::Tensor& debiased) { return biased / (biased + debiased + 1e-8); }

DifficultyWeights::DifficultyWeights(const std::string& method, const SampleTable& dataset, double momentum, at::Device device)
    : biased_(method + ".biased_losses", dataset, momentum, device), debiased_(method + ".debiased_losses", dataset, momentum, device) {}

at::Tensor DifficultyWeights::weights(const at::Tensor& indices, const at::Tensor& biased, const at::Tensor& debiased) {
  return relative_difficulty(biased_.relative(indices, biased), debiased_.relative(indices, debiased));
}

void DifficultyWeights::commit() {
  biased_.commit();
  debiased_.commit();
}

void DifficultyWeights::load(const SafetensorsFile& file) {
  biased_.load(file);
  debiased_.load(file);
}

Metric relative_difficulty_metric() {
  return {kRelativeDifficulty, "mean relative-difficulty weight", Unit::kNumber, Better::kNeither, Standing::kTraining};
}

}  // namespace debias
