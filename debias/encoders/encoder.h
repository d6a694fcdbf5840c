// Backbones and projection heads, by name.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/options.h"

namespace debias {

// A backbone: images [N, C, H, W] to pooled features [N, feature_dim()]. Parameter and buffer names are torchvision's.
class Encoder : public torch::nn::Module {
 public:
  virtual torch::Tensor forward(const torch::Tensor& images) = 0;
  virtual int64_t feature_dim() const = 0;
  virtual Config config() const = 0;  // resolved, with `name`
};

// Maps features to the projection that losses read (before L2 normalisation).
class Head : public torch::nn::Module {
 public:
  virtual torch::Tensor forward(const torch::Tensor& features) = 0;
  virtual int64_t output_dim() const = 0;
  virtual Config config() const = 0;
};

struct EncoderEntry {
  std::string name;
  std::vector<std::string> aliases;
  std::string summary;
  std::vector<OptionSpec> options;
  // Parameters are initialised from `seed` alone (RngDomain::kInit), whatever ran before.
  std::function<std::shared_ptr<Encoder>(const Config& section, int64_t in_channels, uint64_t seed)> make;
  bool reads_words = false;  // sentences (sentence_encoders.h) and not images; in_channels is then the number of words
};
const std::vector<EncoderEntry>& encoder_registry();

struct HeadEntry {
  std::string name;  // simclr, mlp, none
  std::vector<std::string> aliases;
  std::string summary;
  std::vector<OptionSpec> options;
  std::function<std::shared_ptr<Head>(const Config& section, int64_t feature_dim, uint64_t seed)> make;
};
const std::vector<HeadEntry>& head_registry();

// From recipe sections. An encoder section's `weights: FILE.safetensors` loads existing weights after initialisation (keys of the
// encoder, optionally under the prefix "encoder."; a missing or unexpected or misshapen key is a data error naming it; `fc.*` is ignored).
std::shared_ptr<Encoder> make_encoder(const Config& section, int64_t in_channels, uint64_t seed);
std::shared_ptr<Head> make_head(const Config& section, int64_t feature_dim, uint64_t seed);  // null section: none

}  // namespace debias
