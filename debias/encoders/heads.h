// Projection heads, D features to the output that losses read.
//
//   simclr   Linear(D -> hidden_dim, no bias), BatchNorm, ReLU, Linear(hidden_dim -> output_dim)   (the debiased-contrastive family)
//   mlp      Linear(D -> D), ReLU, Linear(D -> output_dim)                                          (SupContrast)
//   linear   Linear(D -> output_dim), with batch_norm: true BatchNorm without weights after it
//            (contrastive multiview coding's ResNets; the norm is ours: it takes the rows' common direction away)
//   alexnet  twice Linear(-> hidden_dim), BatchNorm, ReLU, then Linear(hidden_dim -> output_dim)
//            (contrastive multiview coding's AlexNets, after alexnet_half)
//   moco_v3  layers of Linear (no bias) and BatchNorm, all but the last followed by ReLU, the last norm without weights: 2 of them behind a
//            ResNet, 3 behind a vision transformer (Chen, Xie and He 2021)
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

class LinearHeadOptions {
 public:
  DEBIAS_OPTION(LinearHeadOptions, int64_t, output_dim, 128)
  DEBIAS_OPTION(LinearHeadOptions, bool, batch_norm, false)
  static const OptionTable<LinearHeadOptions>& table();
};

class AlexNetHeadOptions {
 public:
  DEBIAS_OPTION(AlexNetHeadOptions, int64_t, hidden_dim, 2048)
  DEBIAS_OPTION(AlexNetHeadOptions, int64_t, output_dim, 128)
  static const OptionTable<AlexNetHeadOptions>& table();
};

class MocoV3HeadOptions {
 public:
  DEBIAS_OPTION(MocoV3HeadOptions, int64_t, layers, 2)
  DEBIAS_OPTION(MocoV3HeadOptions, int64_t, hidden_dim, 4096)
  DEBIAS_OPTION(MocoV3HeadOptions, int64_t, output_dim, 256)
  static const OptionTable<MocoV3HeadOptions>& table();
};

std::shared_ptr<Head> make_simclr_head(const SimclrHeadOptions& options, int64_t feature_dim, uint64_t seed);
std::shared_ptr<Head> make_mlp_head(const MlpHeadOptions& options, int64_t feature_dim, uint64_t seed);
std::shared_ptr<Head> make_linear_head(const LinearHeadOptions& options, int64_t feature_dim, uint64_t seed);
std::shared_ptr<Head> make_alexnet_head(const AlexNetHeadOptions& options, int64_t feature_dim, uint64_t seed);
std::shared_ptr<Head> make_moco_v3_head(const MocoV3HeadOptions& options, int64_t feature_dim, uint64_t seed);
std::shared_ptr<Head> make_no_head(int64_t feature_dim);

}  // namespace debias
