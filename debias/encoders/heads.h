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

constexpr int64_t kWidestHead = 65536;

struct SimclrHeadOptions {
  int64_t hidden_dim = 512;
  int64_t output_dim = 128;
  void describe(OptionVisitor& o) {
    o("hidden_dim", hidden_dim, Range::closed(1, kWidestHead), "width of the hidden layer");
    o("output_dim", output_dim, Range::closed(1, kWidestHead), "dimensions of the projection");
  }
};

struct MlpHeadOptions {
  int64_t output_dim = 128;
  void describe(OptionVisitor& o) { o("output_dim", output_dim, Range::closed(1, kWidestHead), "dimensions of the projection"); }
};

struct LinearHeadOptions {
  int64_t output_dim = 128;
  bool batch_norm = false;
  void describe(OptionVisitor& o) {
    o("output_dim", output_dim, Range::closed(1, kWidestHead), "dimensions of the projection");
    o("batch_norm", batch_norm,
      "batch normalisation without weights after the layer, which removes the direction common to all embeddings");
  }
};

struct AlexNetHeadOptions {
  int64_t hidden_dim = 2048;
  int64_t output_dim = 128;
  void describe(OptionVisitor& o) {
    o("hidden_dim", hidden_dim, Range::closed(1, kWidestHead), "width of both hidden layers");
    o("output_dim", output_dim, Range::closed(1, kWidestHead), "dimensions of the projection");
  }
};

struct MocoV3HeadOptions {
  int64_t layers = 2;
  int64_t hidden_dim = 4096;
  int64_t output_dim = 256;
  void describe(OptionVisitor& o) {
    o("layers", layers, Range::closed(2, 8), "linear layers: 2 behind a ResNet, 3 behind a vision transformer");
    o("hidden_dim", hidden_dim, Range::closed(1, kWidestHead), "width of each hidden layer");
    o("output_dim", output_dim, Range::closed(1, kWidestHead), "dimensions of the projection");
  }
};

std::shared_ptr<Head> make_simclr_head(const SimclrHeadOptions& options, int64_t feature_dim, uint64_t seed);
std::shared_ptr<Head> make_mlp_head(const MlpHeadOptions& options, int64_t feature_dim, uint64_t seed);
std::shared_ptr<Head> make_linear_head(const LinearHeadOptions& options, int64_t feature_dim, uint64_t seed);
std::shared_ptr<Head> make_alexnet_head(const AlexNetHeadOptions& options, int64_t feature_dim, uint64_t seed);
std::shared_ptr<Head> make_moco_v3_head(const MocoV3HeadOptions& options, int64_t feature_dim, uint64_t seed);
std::shared_ptr<Head> make_no_head(int64_t feature_dim);

}  // namespace debias
