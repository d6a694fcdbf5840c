#include "debias/encoders/channel_halves.h"

#include <ATen/ATen.h>

namespace debias {
namespace {

class ChannelHalves final : public Encoder {
 public:
  ChannelHalves(std::shared_ptr<Encoder> first, std::shared_ptr<Encoder> second, int64_t channels)
      : first_(register_module("first", std::move(first))), second_(register_module("second", std::move(second))), channels_(channels) {}

  torch::Tensor forward(const torch::Tensor& images) override {
    const auto part = [&](int64_t begin, int64_t end) {
      const torch::Tensor own = images.slice(1, begin, end);
      return images.is_contiguous(at::MemoryFormat::ChannelsLast) ? own.contiguous(at::MemoryFormat::ChannelsLast) : own.contiguous();
    };
    return at::cat({first_->forward(part(0, channels_)), second_->forward(part(channels_, images.size(1)))}, 1);
  }
  int64_t feature_dim() const override { return first_->feature_dim() + second_->feature_dim(); }
  std::string registry_name() const override { return first_->registry_name(); }

 private:
  std::shared_ptr<Encoder> first_, second_;
  int64_t channels_;
};

class HeadHalves final : public Head {
 public:
  HeadHalves(std::shared_ptr<Head> first, std::shared_ptr<Head> second, int64_t features)
      : Head(first->output_dim() + second->output_dim()),
        first_(register_module("first", std::move(first))),
        second_(register_module("second", std::move(second))),
        features_(features) {}

  torch::Tensor forward(const torch::Tensor& features) override {
    return at::cat({first_->forward(features.slice(1, 0, features_)), second_->forward(features.slice(1, features_))}, 1);
  }

 private:
  std::shared_ptr<Head> first_, second_;
  int64_t features_;
};

}  // namespace

std::shared_ptr<Encoder> channel_halves(std::shared_ptr<Encoder> first, std::shared_ptr<Encoder> second, int64_t channels) {
  return std::make_shared<ChannelHalves>(std::move(first), std::move(second), channels);
}

std::shared_ptr<Head> head_halves(std::shared_ptr<Head> first, std::shared_ptr<Head> second, int64_t features) {
  return std::make_shared<HeadHalves>(std::move(first), std::move(second), features);
}

}  // namespace debias
