#include "debias/encoders/folded_convolution.h"

#include <ATen/ATen.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "debias/encoders/resnet.h"
#include "debias/encoders/simple_convnet.h"
#include "tests/encoders/one_thread.h"

namespace debias {
namespace strided_convolution_test {

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

}  // namespace strided_convolution_test
}  // namespace debias
