// Projection heads, D features to the output that losses read.
//
//   simclr   Linear(D -> hidden_dim, no bias), BatchNorm, ReLU, Linear(hidden_dim -> output_dim)   (the debiased-contrastive family)
//   mlp      Linear(D -> D), ReLU, Linear(D -> output_dim)                                          (SupContrast)
//   none     the features themselves
#pragma once

#include <cstdint>
#include <memory>

#include "debias/core/options.h"
#include "debias/encoders/encoder.h"

namespace debias {

class SimclrHeadOptions {
 public:
  DEBIAS_OPTION(SimclrHeadOptions, int64_t, hidden_dim, 512)
  DEBIAS_OPTION(SimclrHeadOptions, int64_t, output_dim, 128)
  static const OptionTable<SimclrHeadOptions>& table();
};

class MlpHeadOptions {
 public:
  DEBIAS_OPTION(MlpHeadOptions, int64_t, output_dim, 128)
  static const OptionTable<MlpHeadOptions>& table();
};

class NoHeadOptions {
 public:
  static const OptionTable<NoHeadOptions>& table();
};

std::shared_ptr<Head> make_simclr_head(const SimclrHeadOptions& options, int64_t feature_dim, uint64_t seed);
std::shared_ptr<Head> make_mlp_head(const MlpHeadOptions& options, int64_t feature_dim, uint64_t seed);
std::shared_ptr<Head> make_no_head(int64_t feature_dim);

}  // namespace debias
