#include "debias/encoders/heads.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <map>

#include "debias/encoders/state.h"

namespace debias {
namespace heads_test {

int64_t count(const Head& head) {
  int64_t total = 0;
  for (const auto& parameter : head.parameters()) total += parameter.numel();
  return total;
}

std::map<std::string, at::Tensor> state_of(const Head& head) {
  std::map<std::string, at::Tensor> state;
  for (const auto& [name, tensor] : named_state(head)) state[name] = tensor.detach();
  return state;
}

TEST(Heads, ParameterCountsAreThePublishedOnes) {
  EXPECT_EQ(count(*make_simclr_head({}, 2048, 1)), 1115264);
  EXPECT_EQ(count(*make_simclr_head({}, 512, 1)), 328832);
  EXPECT_EQ(count(*make_mlp_head({}, 2048, 1)), 4458624);
  EXPECT_EQ(count(*make_mlp_head({}, 512, 1)), 328320);
  EXPECT_EQ(count(*make_no_head(512)), 0);
}

TEST(Heads, SimclrIsItsFormula) {
  const auto head = make_simclr_head(SimclrHeadOptions{.hidden_dim = 5, .output_dim = 3}, 4, 1);
  const at::Tensor x = at::sin(at::arange(24, at::kFloat)).view({6, 4});
  const auto s = state_of(*head);
  const at::Tensor hidden = x.mm(s.at("fc1.weight").t());
  const at::Tensor normal = (hidden - hidden.mean(0)) / (hidden.var(0, /*unbiased=*/false) + 1e-5).sqrt();
  const at::Tensor expected = at::relu(normal).mm(s.at("fc2.weight").t()) + s.at("fc2.bias");
  EXPECT_TRUE(at::allclose(head->forward(x), expected, 1e-4, 1e-5));
}

TEST(Heads, MlpIsItsFormula) {
  const auto head = make_mlp_head(MlpHeadOptions{.output_dim = 3}, 4, 1);
  const at::Tensor x = at::sin(at::arange(24, at::kFloat)).view({6, 4});
  const auto s = state_of(*head);
  const at::Tensor hidden = at::relu(x.mm(s.at("fc1.weight").t()) + s.at("fc1.bias"));
  EXPECT_TRUE(at::allclose(head->forward(x), hidden.mm(s.at("fc2.weight").t()) + s.at("fc2.bias"), 1e-4, 1e-5));
}

TEST(Heads, LinearIsItsFormula) {
  const auto head = make_linear_head(LinearHeadOptions{.output_dim = 3}, 4, 1);
  const at::Tensor x = at::sin(at::arange(24, at::kFloat)).view({6, 4});
  const auto s = state_of(*head);
  EXPECT_TRUE(at::allclose(head->forward(x), x.mm(s.at("fc.weight").t()) + s.at("fc.bias"), 1e-4, 1e-5));
}

TEST(Heads, LinearWithBatchNormTakesTheCommonDirectionAway) {
  const auto head = make_linear_head(LinearHeadOptions{.output_dim = 3, .batch_norm = true}, 4, 1);
  const at::Tensor x = at::sin(at::arange(24, at::kFloat)).view({6, 4});
  const auto s = state_of(*head);
  EXPECT_EQ(count(*head), 4 * 3 + 3);  // the norm has no weights
  const at::Tensor rows = x.mm(s.at("fc.weight").t()) + s.at("fc.bias");
  const at::Tensor expected = (rows - rows.mean(0)) / (rows.var(0, /*unbiased=*/false) + 1e-5).sqrt();
  EXPECT_TRUE(at::allclose(head->forward(x), expected, 1e-4, 1e-5));
  EXPECT_TRUE(state_of(*head).contains("bn.running_mean"));
}

TEST(Heads, MocoV3IsItsFormula) {
  EXPECT_EQ(count(*make_moco_v3_head({}, 2048, 1)), 2048 * 4096 + 2 * 4096 + 4096 * 256);  // the last norm has no weights
  const auto head = make_moco_v3_head(MocoV3HeadOptions{.layers = 3, .hidden_dim = 5, .output_dim = 3}, 4, 1);
  const at::Tensor x = at::sin(at::arange(24, at::kFloat)).view({6, 4});
  const auto s = state_of(*head);
  const auto normal = [](const at::Tensor& rows) { return (rows - rows.mean(0)) / (rows.var(0, /*unbiased=*/false) + 1e-5).sqrt(); };
  const at::Tensor first = at::relu(normal(x.mm(s.at("fc1.weight").t())));
  const at::Tensor second = at::relu(normal(first.mm(s.at("fc2.weight").t())));
  EXPECT_TRUE(at::allclose(head->forward(x), normal(second.mm(s.at("fc3.weight").t())), 1e-4, 1e-5));
}

TEST(Heads, AlexnetIsItsFormula) {
  EXPECT_EQ(count(*make_alexnet_head({}, 4608, 1)), 13906048);
  const auto head = make_alexnet_head(AlexNetHeadOptions{.hidden_dim = 5, .output_dim = 3}, 4, 1);
  const at::Tensor x = at::sin(at::arange(24, at::kFloat)).view({6, 4});
  const auto s = state_of(*head);
  const auto layer = [&](const at::Tensor& in, const std::string& name) {
    return in.mm(s.at(name + ".weight").t()) + s.at(name + ".bias");
  };
  const auto norm = [](const at::Tensor& in) { return (in - in.mean(0)) / (in.var(0, /*unbiased=*/false) + 1e-5).sqrt(); };
  const at::Tensor expected = layer(at::relu(norm(layer(at::relu(norm(layer(x, "fc6"))), "fc7"))), "fc8");
  EXPECT_TRUE(at::allclose(head->forward(x), expected, 1e-4, 1e-5));
}

TEST(Heads, NoneIsTheFeaturesThemselves) {
  const at::Tensor x = at::ones({2, 3});
  EXPECT_TRUE(make_no_head(3)->forward(x).is_same(x));
}

}  // namespace heads_test
}  // namespace debias
