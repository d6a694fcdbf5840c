// Joint work of the ranks inside a step: statistics of batch normalisation over all rows, and each a share of the loss's pairs.
#pragma once

#include <torch/nn/module.h>

#include <map>
#include <memory>
#include <vector>

#include "debias/encoders/batch_norm.h"
#include "debias/pairs/rows.h"
#include "debias/ranks/ranks.h"

namespace debias {

// Both hold on to `ranks`.
std::unique_ptr<const NormPeers> norm_peers(const Ranks& ranks);
std::unique_ptr<const RowShare> row_share(const Ranks& ranks);

// Running statistics of batch normalisation where each process normalises its rows by themselves.

// Each rank moves r by its own passes, r <- a r + c with a = (1 - momentum)^passes. All of them together, in the order of the ranks as one
// process does with its parts: r <- a^W r + sum of a^(W-1-k) c_k. It starts from `networks` as they are at construction, before the passes.
class RunningStatistics {
 public:
  RunningStatistics(const std::vector<const torch::nn::Module*>& networks, const Ranks& ranks);
  void join();  // after the passes: the same on every rank

 private:
  // Layers of one momentum. All of them are joined by the same few operations, and nothing is waited for.
  struct Norms {
    std::vector<at::Tensor> moments, passes;  // buffers: a mean and a variance a layer; how many passes each has seen
    at::Tensor old_moments, old_passes;       // float64 copies: one behind the other; a number a layer
  };
  void join(double momentum, Norms& norms) const;

  const Ranks& ranks_;
  std::map<double, Norms> by_momentum_;
};

}  // namespace debias
