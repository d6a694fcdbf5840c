#include "debias/encoders/simple_convnet.h"

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>

#include <vector>

#include "debias/encoders/batch_norm.h"
#include "debias/encoders/folded_convolution.h"
#include "debias/encoders/initialise.h"

namespace debias {
namespace {

constexpr std::array<int64_t, 4> kChannels = {16, 32, 64, 128};

class SimpleConvNet final : public Encoder {
 public:
  SimpleConvNet(const SimpleConvNetOptions& options, int64_t in_channels, uint64_t seed) : options_(options) {
    check_options(options, "encoder 'simple_convnet'");
    if (in_channels < 1) throw usage_error("encoder 'simple_convnet': images of {} channels; it needs at least 1", in_channels);
    const int64_t kernel = options.kernel == ConvNetKernel::k7 ? 7 : 1;
    int64_t in = in_channels;
    for (size_t i = 0; i < kChannels.size(); ++i) {
      const auto conv =
          torch::nn::Conv2dOptions(in, kChannels[i], kernel).stride(i == 0 ? options.stem_stride : options.stride).padding(kernel / 2);
      convs_.push_back(register_module(fmt::format("conv{}", i + 1), torch::nn::Conv2d(conv)));
      norms_.push_back(register_module(fmt::format("bn{}", i + 1), torch::nn::BatchNorm2d(kChannels[i])));
      in = kChannels[i];
    }
    initialise(*this, seed, InitStream::kEncoder);
  }

  torch::Tensor forward(const torch::Tensor& images) override {
    torch::Tensor x = images;
    for (size_t i = 0; i < convs_.size(); ++i) {
      const Activation activation = i + 1 == convs_.size() ? options_.activation : Activation::kRelu;
      x = normalised(*norms_[i], convolve(convs_[i], x), {.activation = activation});
    }
    return x.mean({2, 3});
  }

  int64_t feature_dim() const override { return kChannels.back(); }

  std::string registry_name() const override { return "simple_convnet"; }

 private:
  SimpleConvNetOptions options_;
  std::vector<torch::nn::Conv2d> convs_;
  std::vector<torch::nn::BatchNorm2d> norms_;
};

}  // namespace

std::shared_ptr<Encoder> make_simple_convnet(const SimpleConvNetOptions& options, int64_t in_channels, uint64_t seed) {
  return std::make_shared<SimpleConvNet>(options, in_channels, seed);
}

}  // namespace debias
