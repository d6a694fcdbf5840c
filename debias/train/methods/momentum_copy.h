// A copy of encoder and head that follows them: theta' <- m theta' + (1 - m) theta, without gradient. A part that any method can have.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "debias/core/safetensors.h"
#include "debias/train/methods/model.h"

namespace debias {

class MomentumCopy {
 public:
  MomentumCopy(const Model& of, const Recipe& recipe, int64_t channels);  // equal to it at first; channels of the images

  void follow(const Model& model, double momentum);  // parameters; running statistics are the copy's own, of what passes it
  ModelOutput forward(const torch::Tensor& images, const ForwardOptions& options) const { return debias::forward(copy_, images, options); }

  std::vector<const torch::nn::Module*> networks() const { return {copy_.encoder.get(), copy_.head.get()}; }
  Encoder& encoder() const { return *copy_.encoder; }
  std::vector<std::pair<std::string, torch::Tensor>> state() const;  // "momentum.encoder.", "momentum.head."
  void load(const SafetensorsFile& file);

 private:
  Model copy_;
};

}  // namespace debias
