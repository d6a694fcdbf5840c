// State that a method keeps for each sample of the training set from one visit to the next.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

#include "debias/core/safetensors.h"
#include "debias/data/sample_table.h"
#include "debias/results/metric.h"

namespace debias {

// values [B] of the samples `indices` int64 [B]: of each row the mean over the rows of its sample, where a sampler draws it several times.
at::Tensor mean_of_sample(const at::Tensor& indices, const at::Tensor& values);

// The running loss of every sample, relative to the largest of its class:
//
//   r_i <- l_i at the first visit of sample i, then r_i <- m r_i + (1 - m) l_i       relative_i = r_i / max over j of class y_i of r_j
//
// m in [0, 1). float32 [N] on the method's device; -1 where a sample has not been visited. It is a tensor of the checkpoint.
class RunningLosses {
 public:
  RunningLosses(std::string name, const SampleTable& dataset, double momentum, at::Device device);

  // Relative losses [B] of the samples `indices` after adding `losses` [B]. The step's losses are kept by commit() alone, so that a
  // step that fails leaves none behind.
  at::Tensor relative(const at::Tensor& indices, const at::Tensor& losses);
  void commit();

  const at::Tensor& losses() const { return losses_; }
  std::pair<std::string, at::Tensor> state() const { return {name_, losses_}; }
  void load(const SafetensorsFile& file);

 private:
  std::string name_;
  double momentum_;
  int64_t classes_;
  at::Tensor labels_;         // int64 [N]
  at::Tensor losses_, next_;  // next: those of the step under way
};

// W = b / (b + d + 1e-8) of relative losses of a biased and a debiased network, [B]: near 1 for samples that only the biased one finds hard
// (Nam et al. 2020, equation 3; constant and normalisation by class are the released code's).
at::Tensor relative_difficulty(const at::Tensor& biased, const at::Tensor& debiased);
inline constexpr const char* kRelativeDifficulty = "relative_difficulty";  // its mean over the samples of an epoch
Metric relative_difficulty_metric();

// W of the visits of a step, and the running losses of both networks that it is made of, "METHOD.biased_losses" and "METHOD.debiased_losses"
// of the checkpoint.
class DifficultyWeights {
 public:
  DifficultyWeights(const std::string& method, const SampleTable& dataset, double momentum, at::Device device);

  // indices int64 [B] of the samples, cross-entropies [B] of both networks.
  at::Tensor weights(const at::Tensor& indices, const at::Tensor& biased, const at::Tensor& debiased);
  void commit();  // of RunningLosses

  std::vector<std::pair<std::string, at::Tensor>> state() const { return {biased_.state(), debiased_.state()}; }
  void load(const SafetensorsFile& file);

 private:
  RunningLosses biased_, debiased_;
};

}  // namespace debias
