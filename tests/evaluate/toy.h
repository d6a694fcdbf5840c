// A labelled data set without files and an encoder with a BatchNorm, both small enough to reason about.
#pragma once

#include <ATen/ATen.h>
#include <torch/nn/modules/batchnorm.h>

#include <memory>
#include <string>
#include <vector>

#include "debias/core/error.h"
#include "debias/core/philox.h"
#include "debias/data/dataset.h"
#include "debias/encoders/encoder.h"
#include "debias/evaluate/protocol.h"

namespace debias {

// Image i is of class i % classes: that class's channel is bright, the others dark, with noise of its own stream.
class ToyDataset : public Dataset {
 public:
  ToyDataset(int64_t size, int64_t classes, const std::string& split = "train") : labels_(size), biases_(size, kUnknown) {
    info_.name = "toy";
    info_.split = split;
    info_.height = info_.width = 6;
    info_.mean = {0.5};
    info_.std = {0.25};
    for (int64_t c = 0; c < classes; ++c) info_.class_names.push_back("class" + std::to_string(c));
    for (int64_t i = 0; i < size; ++i) labels_[i] = i % classes;
    shown_ = labels_;
  }

  const DatasetInfo& info() const override { return info_; }
  int64_t size() const override { return static_cast<int64_t>(labels_.size()); }
  int64_t label(int64_t index) const override { return labels_[index]; }
  int64_t bias(int64_t index) const override { return biases_[index]; }
  int64_t group(int64_t index) const override { return groups_.empty() ? kUnknown : groups_[index]; }
  std::string source(int64_t index) const override { return "toy/" + std::to_string(index) + ".png"; }
  Sample get(int64_t index) const override {
    if (index == broken_) throw data_error("toy/{}.png: truncated", index);
    Image image{6, 6, 3, std::vector<uint8_t>(6 * 6 * 3)};
    Random random({.domain = RngDomain::kTest, .sample = static_cast<uint64_t>(index)});
    for (size_t p = 0; p < image.pixels.size(); ++p) {
      const int64_t base = static_cast<int64_t>(p % 3) == shown_[index] ? 170 : 60;
      image.pixels[p] = static_cast<uint8_t>(base + random.below(50));
    }
    return {std::move(image), id(index), label(index), bias(index)};
  }

  void set_label(int64_t index, int64_t label) { labels_[index] = label; }
  void set_bias(int64_t index, int64_t bias) { biases_[index] = bias; }
  // Image i is of group i / images of each; `first`: of image 0.
  void set_groups(int64_t images, int64_t first = 0) {
    for (int64_t i = 0; i < size(); ++i) groups_.push_back(i / images);
    for (int64_t group = 0; group <= groups_.back(); ++group) info_.group_names.push_back("burst " + std::to_string(first + group));
    info_.groups_from = "column burst";
  }
  void break_image(int64_t index) { broken_ = index; }
  DatasetInfo& editable_info() { return info_; }

 private:
  DatasetInfo info_;
  std::vector<int64_t> labels_, biases_, shown_, groups_;
  int64_t broken_ = -1;
};

// BatchNorm, then the mean of each channel and of its square: D = 6.
class ToyEncoder : public Encoder {
 public:
  ToyEncoder() { bn_ = register_module("bn", torch::nn::BatchNorm2d(3)); }
  torch::Tensor forward(const torch::Tensor& images) override {
    channels_last = images.is_contiguous(at::MemoryFormat::ChannelsLast);
    saw_training = is_training();
    const at::Tensor x = bn_->forward(images);
    return at::cat({x.mean({2, 3}), x.square().mean({2, 3})}, 1) + poison;
  }
  int64_t feature_dim() const override { return 6; }
  std::string registry_name() const override { return "toy"; }
  torch::nn::BatchNorm2dImpl& bn() { return *bn_; }

  bool channels_last = false, saw_training = false;
  double poison = 0;

 private:
  torch::nn::BatchNorm2d bn_{nullptr};
};

inline EvaluationInput toy_input(int64_t classes = 3) {
  EvaluationInput input;
  input.encoder = std::make_shared<ToyEncoder>();
  input.train = std::make_shared<ToyDataset>(60, classes);
  input.test = std::make_shared<ToyDataset>(31, classes, "test");
  input.workers = 0;
  return input;
}

inline Config options(const std::string& yaml) { return parse_yaml(yaml, ""); }

// Runs a registered protocol on `input`.
inline nlohmann::ordered_json details(const EvaluationResult& result) { return to_json(result.record); }
EvaluationResult evaluated(const EvaluationInput& input, const std::string& protocol, const std::string& yaml = "{}");

}  // namespace debias
