// Running statistics of batch normalisation where each process normalises its rows by themselves.
#pragma once

#include <torch/nn/module.h>

#include <vector>

#include "debias/ranks/ranks.h"

namespace debias {

// Each rank moves r by its own passes, r <- a r + c with a = (1 - momentum)^passes. All of them together, in the order of the ranks as one
// process does with its parts: r <- a^W r + sum of a^(W-1-k) c_k. Of `networks` as they are when it is made, which is before the passes.
class RunningStatistics {
 public:
  RunningStatistics(const std::vector<const torch::nn::Module*>& networks, const Ranks& ranks);
  void join();  // after the passes: the same on every rank

 private:
  struct Norm {
    double momentum = 0;
    at::Tensor mean, variance, passes;  // the buffers
    at::Tensor old_mean, old_variance;  // copies
    int64_t old_passes = 0;
  };
  void join_one(Norm& norm, const at::Tensor& of_ranks, int64_t at) const;

  const Ranks& ranks_;
  std::vector<Norm> norms_;
};

}  // namespace debias
