// The network of a run: encoder and head, and how a batch of views passes them.
#pragma once

#include <torch/nn/module.h>

#include <memory>
#include <string>
#include <vector>

#include "debias/encoders/encoder.h"
#include "debias/train/recipe.h"

namespace debias {

struct Model {
  std::shared_ptr<Encoder> encoder;
  std::shared_ptr<Head> head;

  std::vector<torch::Tensor> parameters() const;                     // encoder's, then head's
  std::vector<std::pair<std::string, torch::Tensor>> state() const;  // parameters and buffers, "encoder." and "head." names
  std::vector<std::pair<std::string, torch::Tensor>> named_parameters() const;
  void train(bool on) const;
};

Model make_model(const Recipe& recipe, int64_t in_channels);

// What one batch becomes: float32 [B, V, D], rows not yet normalised.
struct ModelOutput {
  torch::Tensor features;
  torch::Tensor projection;
};

struct ForwardOptions {
  Forward order = Forward::kPerView;
  Precision precision = Precision::kFp32;
  bool channels_last = true;
  c10::Device device = c10::Device(c10::kCPU);
};

// images: [V, B, C, H, W] float32 on the CPU.
ModelOutput forward(const Model& model, const torch::Tensor& images, const ForwardOptions& options);

}  // namespace debias
