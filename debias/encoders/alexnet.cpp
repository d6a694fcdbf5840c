#include "debias/encoders/alexnet.h"

#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/max_pool2d.h>
#include <fmt/format.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>

#include <array>
#include <vector>

#include "debias/encoders/folded_convolution.h"
#include "debias/encoders/initialise.h"

namespace debias {
namespace {

struct Layer {
  int64_t channels, kernel, stride;
  bool pooled;
};
constexpr std::array<Layer, 5> kLayers = {
    {{48, 11, 4, true}, {128, 5, 1, true}, {192, 3, 1, false}, {192, 3, 1, false}, {128, 3, 1, true}}};
constexpr int64_t kPositions = 6;   // a side of the last map
constexpr int64_t kLeastSide = 63;  // of an image of which one position is left
constexpr int64_t kStemPadding = 2;

class AlexNetHalf final : public Encoder {
 public:
  AlexNetHalf(const AlexNetHalfOptions& options, int64_t in_channels, uint64_t seed) {
    check_options(options, "encoder 'alexnet_half'");
    if (in_channels < 1) throw usage_error("encoder 'alexnet_half': images of {} channels; it needs at least 1", in_channels);
    int64_t in = in_channels;
    for (size_t i = 0; i < kLayers.size(); ++i) {
      const Layer& layer = kLayers[i];
      const int64_t padding = i == 0 ? kStemPadding : layer.kernel / 2;
      const auto conv = torch::nn::Conv2dOptions(in, layer.channels, layer.kernel).stride(layer.stride).padding(padding).bias(false);
      convs_.push_back(register_module(fmt::format("conv{}", i + 1), torch::nn::Conv2d(conv)));
      norms_.push_back(register_module(fmt::format("bn{}", i + 1), torch::nn::BatchNorm2d(layer.channels)));
      in = layer.channels;
    }
    initialise(*this, seed, InitStream::kEncoder, ConvolutionWeights::kFanInUniform);
  }

  torch::Tensor forward(const torch::Tensor& images) override {
    if (images.size(2) < kLeastSide || images.size(3) < kLeastSide) {
      throw usage_error("encoder 'alexnet_half': images of {}x{} pixels; it needs at least {}x{}", images.size(2), images.size(3),
                        kLeastSide, kLeastSide);
    }
    BoundedMap x = {images};
    for (size_t i = 0; i < kLayers.size(); ++i) {
      x = normalised_convolution(convs_[i], norms_[i], x, {.activation = Activation::kRelu});
      if (kLayers[i].pooled) x.values = at::max_pool2d(x.values, {3, 3}, {2, 2});
    }
    const bool fits = x.values.size(2) == kPositions && x.values.size(3) == kPositions;
    return (fits ? x.values : at::adaptive_avg_pool2d(x.values, {kPositions, kPositions})).flatten(1);
  }

  int64_t feature_dim() const override { return kLayers.back().channels * kPositions * kPositions; }
  std::string registry_name() const override { return "alexnet_half"; }

 private:
  std::vector<torch::nn::Conv2d> convs_;
  std::vector<torch::nn::BatchNorm2d> norms_;
};

}  // namespace

std::shared_ptr<Encoder> make_alexnet_half(const AlexNetHalfOptions& options, int64_t in_channels, uint64_t seed) {
  return std::make_shared<AlexNetHalf>(options, in_channels, seed);
}

}  // namespace debias
