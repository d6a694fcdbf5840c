#include "debias/optim/fused_adam.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/optim/given_parameters.h"

namespace debias {
namespace fused_adam_test {

using torch::optim::AdamOptions;

// Sizes around those of vectors and cache lines; the last has no gradient before the fourth step.
std::vector<torch::Tensor> start(at::ScalarType type) {
  std::vector<torch::Tensor> all;
  for (const int64_t size : {1, 7, 16, 33, 1000, 5}) {
    all.push_back(at::sin(at::arange(size, at::kDouble) + size).to(type).set_requires_grad(true));
  }
  all[4] = all[4].detach().view({10, 4, 5, 5}).clone().set_requires_grad(true);
  all.push_back(at::scalar_tensor(-0.7, type).set_requires_grad(true));
  std::swap(all[5], all[6]);
  return all;
}

void run(Optimizer& optimizer, const std::vector<torch::Tensor>& parameters, int first, int last) {
  for (int step = first; step < last; ++step) {
    optimizer.zero_grad();
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (i + 1 == parameters.size() && step < 3) continue;
      at::sin(parameters[i] * (step + 1)).sum().backward();
    }
    optimizer.step();
  }
}

TEST(FusedAdam, StepsAsTorchsAdamDoes) {
  for (const auto& [type, bound] : {std::pair(at::kFloat, 1e-6), std::pair(at::kDouble, 1e-13)}) {
    for (const double weight_decay : {0.0, 0.1}) {
      const auto plain = start(type), fused = start(type);
      const auto options = AdamOptions(0.01).betas({0.5, 0.999}).weight_decay(weight_decay);
      torch::optim::Adam rule(plain, options);
      const auto optimizer = make_fused_adam(given_parameters(fused), options);
      for (int step = 0; step < 8; ++step) {
        run(*optimizer, fused, step, step + 1);
        rule.zero_grad();
        for (size_t i = 0; i < plain.size(); ++i) {
          if (fused[i].grad().defined()) plain[i].mutable_grad() = fused[i].grad().clone();
        }
        rule.step();
        for (size_t i = 0; i < plain.size(); ++i) {
          EXPECT_LE((plain[i] - fused[i]).abs().max().item<double>(), bound) << type << ", step " << step << ", tensor " << i;
        }
      }
    }
  }
}

TEST(FusedAdam, IsSavedInAdamsFormAndGoesOnBitForBit) {
  const auto whole = start(at::kFloat), before = start(at::kFloat);
  const auto uncut = make_fused_adam(given_parameters(whole), AdamOptions(0.05));
  run(*uncut, whole, 0, 9);
  const auto first = make_fused_adam(given_parameters(before), AdamOptions(0.05));
  run(*first, before, 0, 2);
  const NamedTensors state = optimizer_state(*first);
  ASSERT_EQ(state.size(), 3 * (before.size() - 1));  // of the last, nothing yet
  EXPECT_EQ(state[0].first, "0.exp_avg");
  EXPECT_EQ(state[1].first, "0.exp_avg_sq");
  EXPECT_EQ(state[2].first, "0.step");
  EXPECT_TRUE(at::equal(state[2].second, at::scalar_tensor(2, at::kLong)));
  std::vector<torch::Tensor> after;
  for (const auto& tensor : before) after.push_back(tensor.detach().clone().set_requires_grad(true));
  const auto second = make_fused_adam(given_parameters(after), AdamOptions(0.05));
  load_optimizer_state(*second, state);
  run(*second, after, 2, 9);
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_TRUE(at::equal(whole[i], after[i])) << i;
  // What it saves is torch's Adam's, which a registered `adam` reads.
  const auto registered = make_optimizer(parse_yaml("adam", "r.yaml"), given_parameters(after));
  load_optimizer_state(*registered, optimizer_state(*second));
}

}  // namespace fused_adam_test
}  // namespace debias
