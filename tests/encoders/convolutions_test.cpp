#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/autocast_mode.h>
#include <ATen/record_function.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/modules/batchnorm.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <string_view>
#include <vector>

#include "debias/core/config.h"
#include "debias/encoders/convnets.h"
#include "debias/encoders/encoder.h"
#include "debias/encoders/folded_convolution.h"
#include "debias/encoders/resnet.h"
#include "tests/encoders/modules.h"

namespace debias {
namespace convolutions_test {

// Gives each block of memory a border, and counts the blocks beyond whose end somebody wrote.
class BorderedAllocator final : public c10::Allocator {
 public:
  BorderedAllocator() { c10::SetCPUAllocator(this); }
  ~BorderedAllocator() override { c10::SetCPUAllocator(c10::GetDefaultCPUAllocator()); }

  static int overrun() { return overrun_; }

  c10::DataPtr allocate(size_t bytes) override {
    auto* block = static_cast<char*>(::operator new(kHead + bytes + kBorder, std::align_val_t(kHead)));
    std::memcpy(block, &bytes, sizeof bytes);
    std::memset(block + kHead + bytes, kMark, kBorder);
    return {block + kHead, block + kHead, release, c10::kCPU};
  }
  c10::DeleterFnPtr raw_deleter() const override { return release; }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }

 private:
  static constexpr size_t kHead = 64, kBorder = size_t{256} << 10;
  static constexpr char kMark = 0x5a;

  static void release(void* data) {
    auto* block = static_cast<char*>(data) - kHead;
    size_t bytes = 0;
    std::memcpy(&bytes, block, sizeof bytes);
    const char* border = block + kHead + bytes;
    if (std::any_of(border, border + kBorder, [](char c) { return c != kMark; })) ++overrun_;
    ::operator delete(block, std::align_val_t(kHead));
  }

  inline static int overrun_ = 0;
};

at::Tensor images(int64_t count, int64_t channels, int64_t side) {
  return at::sin(at::arange(count * channels * side * side, at::kFloat)).view({count, channels, side, side});
}

int blocks_overrun(Encoder& encoder, const at::Tensor& x) {
  const BorderedAllocator allocator;
  const int before = BorderedAllocator::overrun();
  encoder.forward(x.contiguous(at::MemoryFormat::ChannelsLast)).square().sum().backward();
  encoder.zero_grad();
  return BorderedAllocator::overrun() - before;
}

// On processors with AVX-512 the first two, with AVX2 the last one wrote beyond the memory of oneDNN's weight gradient. How much depends on
// the threads; with one thread, on images of 64 pixels and more.
TEST(StridedConvolution, GradientsStayWithinTheirMemory) {
  const OneThread one_thread;
  ResNet narrow(18, ResNetOptions{.width = 8}, 3, 1);
  const auto pointwise = make_simple_convnet(SimpleConvNetOptions{.kernel = ConvNetKernel::k1, .stem_stride = 2}, 3, 1);
  EXPECT_EQ(blocks_overrun(narrow, images(2, 3, 64)), 0);
  EXPECT_EQ(blocks_overrun(*pointwise, images(4, 3, 128)), 0);
  EXPECT_EQ(blocks_overrun(*pointwise, images(4, 3, 32)), 0);
}

TEST(StridedConvolution, IsTheConvolution) {
  const OneThread one_thread;
  for (const int64_t channels : {3, 8, 16, 24}) {
    for (const auto& [kernel, stride, side] : {std::array<int64_t, 3>{1, 2, 8}, {1, 2, 7}, {1, 3, 8}, {3, 2, 8}, {1, 1, 8}}) {
      torch::nn::Conv2d conv(torch::nn::Conv2dOptions(channels, 5, kernel).stride(stride).padding(kernel / 2));
      const at::Tensor x = images(2, channels, side).requires_grad_();
      const at::Tensor y = convolve(conv, x), expected = conv(x);
      ASSERT_EQ(y.sizes(), expected.sizes());
      EXPECT_TRUE(at::allclose(y, expected, 1e-5, 1e-6)) << channels << " " << kernel << " " << stride << " " << side;
      const auto slopes = torch::autograd::grad({y.sin().sum()}, {x, conv->weight, conv->bias});
      const auto expected_slopes = torch::autograd::grad({expected.sin().sum()}, {x, conv->weight, conv->bias});
      for (size_t i = 0; i < slopes.size(); ++i) EXPECT_TRUE(at::allclose(slopes[i], expected_slopes[i], 1e-4, 1e-5)) << i;
    }
  }
}

// What an evaluation computes with folded weights is what the layers give one after another.

thread_local int folded_calls = 0;  // of oneDNN's fused convolution
thread_local int direct_calls = 0;  // of any convolution that is summed directly
thread_local int packed_calls = 0;  // of its linear layer
thread_local int walks = 0;         // through a map for its activation or its bound

std::unique_ptr<at::ObserverContext> count(const at::RecordFunction& function) {
  const std::string_view name = function.name();
  if (name.starts_with("mkldnn::_convolution_pointwise")) ++folded_calls;
  if (name.starts_with("mkldnn::_linear_pointwise")) ++packed_calls;
  if (name == "aten::convolution" || name == "aten::conv2d") ++direct_calls;
  if (name == "aten::relu_" || name == "aten::clamp_" || name == "aten::aminmax") ++walks;
  return nullptr;
}

at::Tensor waves(at::IntArrayRef shape, double step) {
  return at::sin(at::arange(c10::multiply_integers(shape), at::kFloat) * step).reshape(shape);
}

// Statistics and factors as training leaves them: none is what it was at first.
void settle(torch::nn::Module& network) {
  const at::NoGradGuard no_grad;
  double step = 0.37;
  for (const auto& part : network.modules(/*include_self=*/false)) {
    auto* norm = part->as<torch::nn::BatchNorm2dImpl>();
    if (norm == nullptr) continue;
    const int64_t channels = norm->running_mean.numel();
    norm->running_mean.copy_(waves({channels}, step) * 0.2);
    norm->running_var.copy_(1 + 0.5 * waves({channels}, step + 0.1));
    norm->weight.copy_(1 + 0.3 * waves({channels}, step + 0.2));
    norm->bias.copy_(0.1 * waves({channels}, step + 0.3));
    step += 0.01;
  }
}

struct Case {
  const char* section;
  int64_t side;
  int folded;     // convolutions that have a batch normalisation behind them
  int tiled = 0;  // of them in float32, not oneDNN's
};

class Folded : public testing::TestWithParam<Case> {
 protected:
  Folded() : encoder_(read_encoder(parse_yaml(GetParam().section, "r.yaml")).make(3, 1)) {
    settle(*encoder_);
    encoder_->eval();
  }
  at::Tensor images() const { return waves({3, 3, GetParam().side, GetParam().side}, 0.013).contiguous(at::MemoryFormat::ChannelsLast); }

  at::Tensor evaluated(bool bfloat16) { return evaluated(bfloat16, images()); }

  at::Tensor evaluated(bool bfloat16, const at::Tensor& images) {
    const at::NoGradGuard no_grad;
    at::autocast::set_autocast_enabled(at::kCPU, bfloat16);
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    folded_calls = walks = 0;
    const auto handle = at::addThreadLocalCallback(at::RecordFunctionCallback(count).scopes({at::RecordScope::FUNCTION}));
    const at::Tensor rows = encoder_->forward(images);
    at::removeCallback(handle);
    at::autocast::set_autocast_enabled(at::kCPU, false);
    at::autocast::clear_cache();
    return rows.to(at::kFloat);
  }

  std::shared_ptr<Encoder> encoder_;
};

TEST_P(Folded, GivesTheFeaturesOfTheLayers) {
  const at::Tensor expected = encoder_->forward(images()).detach(), found = evaluated(false);
  EXPECT_EQ(folded_calls, GetParam().folded - GetParam().tiled);
  EXPECT_LT((found - expected).abs().max().item<double>(), 2e-5 * expected.abs().max().item<double>());
}

TEST_P(Folded, KeepsTheFeaturesInBfloat16) {
  const at::Tensor expected = encoder_->forward(images()).detach(), found = evaluated(true);
  EXPECT_GT(at::cosine_similarity(found, expected, 1).min().item<double>(), 0.995);
}

TEST_P(Folded, PacksTheWeightsOnceWhereTheyAreKept) {
  const at::Tensor alone = evaluated(false), alone_half = evaluated(true), fewer = images().narrow(0, 0, 1);
  const KeptWeights kept;
  for (int i = 0; i < 2; ++i) {
    EXPECT_LT((evaluated(false) - alone).abs().max().item<double>(), 1e-5 * alone.abs().max().item<double>());
    EXPECT_EQ(folded_calls, GetParam().folded - GetParam().tiled);
    EXPECT_GT(at::cosine_similarity(evaluated(true), alone_half, 1).min().item<double>(), 0.999);
    EXPECT_LT((evaluated(false, fewer)[0] - alone[0]).abs().max().item<double>(), 1e-5 * alone.abs().max().item<double>());
  }
  const at::NoGradGuard no_grad;
  for (const at::Tensor& weight : encoder_->parameters()) weight.zero_();
  EXPECT_GT(evaluated(false).abs().max().item<double>(), 0);  // of the weights as they were
}

// A bound is measured for the images, and where the product of the bounds has become too large; no activation takes a walk of its own.
TEST_P(Folded, WalksThroughFewMapsForAnActivation) {
  for (const bool bfloat16 : {false, true}) {
    evaluated(bfloat16);
    EXPECT_GE(walks, 1);
    EXPECT_LE(walks, 1 + GetParam().folded / 8);
  }
}

// A damaged weight must show in the features, or no check of theirs finds it.
TEST_P(Folded, KeepsWhatIsNotFinite) {
  for (const bool bfloat16 : {false, true}) {
    for (const auto& part : encoder_->modules(/*include_self=*/false)) {
      if (auto* convolution = part->as<torch::nn::Conv2dImpl>()) {
        const at::NoGradGuard no_grad;
        const at::Tensor kept = convolution->weight.clone();
        convolution->weight.view(-1)[0] = std::nan("");
        EXPECT_FALSE(at::isfinite(evaluated(bfloat16)).all().item<bool>());
        convolution->weight.copy_(kept);
        at::Tensor damaged = images().clone();
        damaged[1][0].fill_(std::nan(""));
        const at::Tensor finite = at::isfinite(evaluated(bfloat16, damaged)).all(1);
        EXPECT_FALSE(finite[1].item<bool>());
        EXPECT_TRUE(finite[0].item<bool>());
        break;  // the first of the network, behind which all activations stand
      }
    }
  }
}

TEST_P(Folded, LeavesTrainingAlone) {
  encoder_->train();
  evaluated(false);
  EXPECT_EQ(folded_calls, 0);
}

INSTANTIATE_TEST_SUITE_P(Encoders, Folded,
                         testing::Values(Case{"{name: resnet18, width: 16}", 33, 20, 4},
                                         Case{"{name: resnet50, width: 8, stem: imagenet}", 64, 53}, Case{"mobilenet_v2", 64, 52},
                                         Case{"efficientnet_lite0", 65, 49}, Case{"bagnet18", 40, 21}, Case{"alexnet_half", 71, 5}));

TEST(FoldedConvolution, AppliesWhereNothingElseDependsOnTheLayers) {
  torch::nn::Conv2d convolution(torch::nn::Conv2dOptions(4, 6, 3).bias(false)), with_bias(torch::nn::Conv2dOptions(4, 6, 3));
  torch::nn::BatchNorm2d norm(6);
  norm->eval();
  const at::Tensor x = waves({2, 4, 8, 8}, 0.1);
  EXPECT_FALSE(folded_convolution(*convolution, *norm, {x}));  // a gradient may be asked for
  const at::NoGradGuard no_grad;
  EXPECT_TRUE(folded_convolution(*convolution, *norm, {x}));
  EXPECT_FALSE(folded_convolution(*convolution, *norm, {x}, {.activation = Activation::kTanh}));
  EXPECT_FALSE(folded_convolution(*with_bias, *norm, {x}));
  EXPECT_FALSE(folded_convolution(*convolution, *norm, {x.to(at::kDouble)}));
  const at::Tensor residual = waves({2, 6, 7, 6}, 0.3).narrow(2, 1, 6);  // not contiguous
  const auto found = folded_convolution(*convolution, *norm, {x}, {.residual = residual, .activation = Activation::kRelu});
  EXPECT_LT((found->values - norm(convolution(x)).add(residual).relu()).abs().max().item<double>(), 1e-5);
  const at::Tensor huge = at::full_like(x, 1e38), damaged = x.index_fill(0, at::tensor({0}, at::kLong), std::nan(""));
  EXPECT_TRUE(folded_convolution6(*convolution, *norm, {x}));
  EXPECT_FALSE(folded_convolution6(*convolution, *norm, {huge}));  // whose sums overflow: the bounds would hide it
  EXPECT_FALSE(folded_convolution6(*convolution, *norm, {damaged}));
  EXPECT_TRUE(folded_convolution(*convolution, *norm, {damaged}, {.activation = Activation::kRelu})->values.isnan().any().item<bool>());
  at::Tensor large = at::zeros_like(residual);
  large[0][0][0][0] = std::numeric_limits<float>::infinity();
  large[0][0][0][1] = std::nan("");
  const auto summed = folded_convolution(*convolution, *norm, {x}, {.residual = large, .activation = Activation::kRelu});
  EXPECT_TRUE(summed->values[0][0][0][1].isnan().item<bool>());
  EXPECT_FALSE(std::isfinite(summed->bound));
  norm->train();
  EXPECT_FALSE(folded_convolution(*convolution, *norm, {x}));
}

TEST(PackedLinear, IsTheLayerAndItsActivation) {
  torch::nn::Linear layer(20, 12), without_bias(torch::nn::LinearOptions(20, 12).bias(false));
  at::Tensor x = waves({3, 5, 20}, 0.21);
  EXPECT_FALSE(packed_linear(*layer, x, AfterLinear::kNone));  // a gradient may be asked for
  const at::NoGradGuard no_grad;
  EXPECT_FALSE(packed_linear(*without_bias, x, AfterLinear::kNone));
  EXPECT_FALSE(packed_linear(*layer, x.to(at::kDouble), AfterLinear::kNone));
  x[1][2][3] = std::nan("");
  x[2][0][1] = std::numeric_limits<float>::infinity();
  const at::Tensor plain = layer(x), expected = at::gelu(plain);
  const KeptWeights kept;
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(at::allclose(*packed_linear(*layer, x, AfterLinear::kNone), plain, 1e-5, 1e-6, /*equal_nan=*/true));
    EXPECT_TRUE(at::allclose(*packed_linear(*layer, x, AfterLinear::kGelu), expected, 1e-5, 1e-6, /*equal_nan=*/true));
    EXPECT_TRUE(at::allclose(*packed_linear(*layer, x[0], AfterLinear::kGelu), expected[0], 1e-5, 1e-6));
  }
}

TEST(PackedLinear, GivesTheFeaturesOfAVisionTransformer) {
  const auto encoder = read_encoder(parse_yaml("{name: vit_small, size: 32}", "r.yaml")).make(3, 1);
  encoder->eval();
  const at::Tensor images = waves({3, 3, 32, 32}, 0.013), before = images.clone(), expected = encoder->forward(images).detach();
  const at::NoGradGuard no_grad;
  const KeptWeights kept;
  const auto handle = at::addThreadLocalCallback(at::RecordFunctionCallback(count).scopes({at::RecordScope::FUNCTION}));
  for (int i = 0; i < 2; ++i) {
    packed_calls = 0;
    EXPECT_LT((encoder->forward(images) - expected).abs().max().item<double>(), 1e-4);
    EXPECT_EQ(packed_calls, 4 * 12);  // of each block
  }
  at::removeCallback(handle);
  EXPECT_TRUE(images.equal(before));
}

TEST(FoldedConvolution, CarriesABoundOfWhatItGives) {
  torch::nn::Conv2d convolution(torch::nn::Conv2dOptions(3, 5, 3).padding(1).bias(false));
  torch::nn::BatchNorm2d norm(5);
  norm->eval();
  const at::NoGradGuard no_grad;
  const at::Tensor x = waves({2, 3, 9, 9}, 0.7), residual = 4 * waves({2, 5, 9, 9}, 0.9);
  convolution->weight.fill_(0.25);
  norm->bias.fill_(-0.5);
  const auto sum = folded_convolution(*convolution, *norm, {x, 1}), added = folded_convolution(*convolution, *norm, {x, 1}, {residual}, 4);
  EXPECT_NEAR(sum->bound, 3 * 9 * 0.25 + 0.5, 0.2);  // 27 weights
  EXPECT_NEAR(added->bound, 3 * 9 * 0.25 + 0.5 + 4, 0.2);
  EXPECT_EQ(folded_convolution(*convolution, *norm, {x})->bound, std::numeric_limits<double>::infinity());
  EXPECT_LT(folded_convolution(*convolution, *norm, {x}, {.activation = Activation::kRelu})->bound, 8);  // measured
  EXPECT_EQ(folded_convolution6(*convolution, *norm, {x, 1})->bound, 6);
}

at::Tensor noise(at::IntArrayRef shape, uint64_t seed) { return at::randn(shape, at::detail::createCPUGenerator(seed)); }

torch::nn::Conv2d wide_convolution(int64_t in, int64_t out, int64_t side, bool biased, int64_t stride = 1) {
  torch::nn::Conv2d convolution(torch::nn::Conv2dOptions(in, out, side).padding(side / 2).stride(stride).bias(biased));
  const at::NoGradGuard no_grad;
  convolution->weight.copy_(noise({out, in, side, side}, 2) / std::sqrt(static_cast<double>(in * side * side)));
  if (biased) convolution->bias.copy_(noise({out}, 3));
  return convolution;
}

// The map, and the gradients of a weighted sum of it.
std::vector<at::Tensor> with_gradients(const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  std::vector<at::Tensor> inputs = {x, weight};
  if (bias.defined()) inputs.push_back(bias);
  auto all = torch::autograd::grad({(y * noise(y.sizes(), 4).to(y.scalar_type())).sum()}, inputs);
  all.push_back(y.detach());
  return all;
}

// Whether convolve() leaves oneDNN: no other kernel of convolutions is called.
bool takes_short_way(torch::nn::Conv2d convolution, const at::Tensor& x) {
  direct_calls = 0;
  const at::NoGradGuard no_grad;
  const auto handle = at::addThreadLocalCallback(at::RecordFunctionCallback(count).scopes({at::RecordScope::FUNCTION}));
  convolve(convolution, x);
  at::removeCallback(handle);
  return direct_calls == 0;
}

TEST(ShortConvolution, IsNearToTheSumInDoubleForwardAndBackward) {
  struct Layer {
    std::vector<int64_t> x;
    int64_t out, side;
    bool biased;
  };
  for (const auto& [size, out, side, biased] : std::vector<Layer>{{{2, 16, 28, 28}, 32, 7, true},
                                                                  {{1, 24, 14, 31}, 16, 7, false},
                                                                  {{5, 32, 17, 16}, 64, 7, true},
                                                                  {{9, 16, 32, 32}, 16, 3, false},
                                                                  {{40, 48, 7, 15}, 16, 3, true},
                                                                  {{160, 32, 4, 4}, 64, 3, false},
                                                                  {{16, 256, 14, 14}, 256, 3, false}}) {
    if (side == 7 && !at::_nnpack_available()) continue;
    auto convolution = wide_convolution(size[1], out, side, biased);
    const at::Tensor x = noise(size, 1).relu_().contiguous(at::MemoryFormat::ChannelsLast).requires_grad_();
    EXPECT_TRUE(takes_short_way(convolution, x)) << size;
    const at::Tensor y = convolve(convolution, x);
    EXPECT_TRUE(y.is_contiguous(at::MemoryFormat::ChannelsLast));
    const auto found = with_gradients(y, x, convolution->weight, convolution->bias);
    const auto direct = with_gradients(convolution(x), x, convolution->weight, convolution->bias);
    const auto exact = [](const at::Tensor& tensor) {
      return tensor.defined() ? tensor.detach().to(at::kDouble).requires_grad_() : tensor;
    };
    const at::Tensor wide = exact(x), weight = exact(convolution->weight), bias = exact(convolution->bias);
    const auto expected = with_gradients(at::conv2d(wide, weight, bias, 1, side / 2), wide, weight, bias);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      const auto error = [&](const at::Tensor& tensor) {
        return (tensor.to(at::kDouble) - expected[i]).abs().max().item<double>() / expected[i].abs().max().item<double>();
      };
      EXPECT_LE(error(found[i]), 4 * std::max(error(direct[i]), 2e-7)) << size << " " << i;
    }
  }
}

TEST(ShortConvolution, IsLinearAndMovesWithItsInput) {
  for (const int64_t side : {3, 7}) {
    auto convolution = wide_convolution(16, 16, side, false);
    const at::NoGradGuard no_grad;
    const at::Tensor a = noise({4, 16, 30, 30}, 1), b = noise({4, 16, 30, 30}, 5);
    const at::Tensor of_both = convolve(convolution, 2 * a - 3 * b), sum = 2 * convolve(convolution, a) - 3 * convolve(convolution, b);
    const double scale = sum.abs().max().item<double>();
    EXPECT_LT((of_both - sum).abs().max().item<double>(), 3e-6 * scale);
    const auto inside = [](const at::Tensor& y, int64_t down, int64_t right) {
      return y.slice(2, 3 + down, 20 + down).slice(3, 3 + right, 20 + right);
    };
    const at::Tensor moved = convolve(convolution, a.roll({5, 2}, {2, 3})), still = convolve(convolution, a);
    EXPECT_LT((inside(moved, 5, 2) - inside(still, 0, 0)).abs().max().item<double>(), 3e-6 * scale);
  }
}

TEST(ShortConvolution, IsForManyFiltersOnMapsOfFloat32) {
  const at::Tensor maps = noise({8, 16, 28, 28}, 1);
  for (const int64_t side : {3, 7}) {
    EXPECT_EQ(takes_short_way(wide_convolution(16, 16, side, false), maps), side == 3 || at::_nnpack_available());
    EXPECT_FALSE(takes_short_way(wide_convolution(3, 16, side, false), maps.narrow(1, 0, 3)));
    EXPECT_FALSE(takes_short_way(wide_convolution(16, 16, side, false, 2), maps));
    EXPECT_FALSE(takes_short_way(wide_convolution(16, 16, side, false), maps.narrow(2, 0, 1)));
    auto in_double = wide_convolution(16, 16, side, false);
    in_double->to(at::kDouble);
    EXPECT_FALSE(takes_short_way(in_double, maps.to(at::kDouble)));
  }
  EXPECT_FALSE(takes_short_way(wide_convolution(16, 16, 5, false), maps));
  EXPECT_FALSE(takes_short_way(wide_convolution(16, 16, 3, false), maps.narrow(0, 0, 1).narrow(2, 0, 8).narrow(3, 0, 8)));  // few tiles
}

}  // namespace convolutions_test
}  // namespace debias
