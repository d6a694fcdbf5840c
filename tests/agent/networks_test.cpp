#include "debias/agent/networks.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "debias/encoders/state.h"

namespace debias {
namespace networks_test {

const NetworkShape kPaper{.channels = 9, .pixels = 84, .filters = 32, .features = 50, .hidden = 64, .actions = 6};

TEST(AgentNetworksTest, ConvolutionsLeaveThirtyFiveOfEightyFourPixels) {
  PixelConvolutions convolutions(kPaper);
  EXPECT_EQ(convolutions->outputs(), 32 * 35 * 35);
  EXPECT_EQ(convolutions(at::zeros({2, 9, 84, 84}, at::kByte)).sizes(), (std::vector<int64_t>{2, 39200}));
}

TEST(AgentNetworksTest, LinearLayersStartOrthogonalAndConvolutionsInTheirCentreTap) {
  AgentNetworks networks(kPaper, 0.1, 7);
  for (const auto& [name, tensor] : named_state(*networks->critic)) {
    if (name.ends_with("bias")) {
      EXPECT_EQ(tensor.abs().sum().item<float>(), 0) << name;
    }
    at::Tensor rows = tensor.detach().to(at::kDouble);
    if (rows.dim() == 4) {
      EXPECT_NEAR(rows.square().sum().item<double>(), rows.select(3, 1).select(2, 1).square().sum().item<double>(), 1e-12) << name;
      rows = rows.select(3, 1).select(2, 1) / std::sqrt(2.0);
    }
    if (rows.dim() != 2) continue;
    if (rows.size(0) > rows.size(1)) rows = rows.t();
    EXPECT_TRUE(at::allclose(rows.matmul(rows.t()), at::eye(rows.size(0), at::kDouble), 0, 1e-5)) << name;
  }
}

TEST(AgentNetworksTest, WeightsAreAFunctionOfTheSeedAndTheTargetBeginsAsTheCritic) {
  AgentNetworks one(kPaper, 0.1, 7), same(kPaper, 0.1, 7), other(kPaper, 0.1, 8);
  const auto a = named_state(*one), b = named_state(*same);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(at::equal(a[i].second, b[i].second)) << a[i].first;
  EXPECT_FALSE(at::equal(one->bilinear, other->bilinear));
  EXPECT_GE(one->bilinear.min().item<float>(), 0);
  EXPECT_LT(one->bilinear.max().item<float>(), 1);
  const auto critic = named_state(*one->critic), target = named_state(*one->target);
  for (size_t i = 0; i < critic.size(); ++i) {
    EXPECT_TRUE(at::equal(critic[i].second, target[i].second)) << critic[i].first;
    EXPECT_FALSE(target[i].second.requires_grad()) << critic[i].first;
  }
}

TEST(AgentNetworksTest, TheTwoHeadsAndTheActorStartApart) {
  AgentNetworks networks(kPaper, 0.1, 7);
  EXPECT_FALSE(at::equal(named_state(*networks->critic->first)[2].second, named_state(*networks->critic->second)[2].second));
}

}  // namespace networks_test
}  // namespace debias
