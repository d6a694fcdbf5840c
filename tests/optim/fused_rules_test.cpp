#include "debias/optim/fused_rules.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/optim/given_parameters.h"

namespace debias {
namespace fused_rules_test {

using torch::optim::AdamOptions;

// Sizes around those of vectors and cache lines, one tensor in the order of images; the last has no gradient before the fourth step.
std::vector<torch::Tensor> start(at::ScalarType type) {
  std::vector<torch::Tensor> all;
  for (const int64_t size : {1, 7, 16, 33, 1000, 5}) {
    all.push_back(at::sin(at::arange(size, at::kDouble) + size).to(type).set_requires_grad(true));
  }
  all[4] = all[4].detach().view({10, 4, 5, 5}).contiguous(at::MemoryFormat::ChannelsLast).clone().set_requires_grad(true);
  all.push_back(at::scalar_tensor(-0.7, type).set_requires_grad(true));
  std::swap(all[5], all[6]);
  return all;
}

void give_gradients(const std::vector<torch::Tensor>& parameters, int step) {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (i + 1 == parameters.size() && step < 3) continue;
    parameters[i].mutable_grad() = at::cos(parameters[i] * (step + 1)).contiguous();  // another order of memory than the images'
  }
}

void run(Optimizer& optimizer, const std::vector<torch::Tensor>& parameters, int first, int last) {
  for (int step = first; step < last; ++step) {
    give_gradients(parameters, step);
    optimizer.step();
  }
}

// A rule of torch::optim with another rate for each step, and the entry of that name.
template <class Rule, class Options>
void expect_steps_of_torch(const std::string& yaml, const Options& options) {
  for (const auto& [type, bound] : {std::pair(at::kFloat, 1e-6), std::pair(at::kDouble, 1e-13)}) {
    const auto plain = start(type), fused = start(type);
    Rule rule(plain, options);
    const auto optimizer = read_optimizer(parse_yaml(yaml, "r.yaml")).make(given_parameters(fused));
    for (int step = 0; step < 8; ++step) {
      const double rate = 0.01 / (1 + step % 3);
      set_learning_rate(*optimizer, rate);
      for (auto& group : rule.param_groups()) group.options().set_lr(rate);
      run(*optimizer, fused, step, step + 1);
      give_gradients(plain, step);
      rule.step();
      for (size_t i = 0; i < plain.size(); ++i) {
        EXPECT_LE((plain[i] - fused[i]).abs().max().template item<double>(), bound)
            << yaml << type << ", step " << step << ", tensor " << i;
      }
    }
  }
}

TEST(FusedRules, StepAsTorchsOwnDo) {
  namespace to = torch::optim;
  expect_steps_of_torch<to::Adam>("adam", AdamOptions(1).betas({0.9, 0.999}).eps(1e-8));
  expect_steps_of_torch<to::Adam>("{name: adam, betas: [0.5, 0.99], weight_decay: 0.1}",
                                  AdamOptions(1).betas({0.5, 0.99}).eps(1e-8).weight_decay(0.1));
  expect_steps_of_torch<to::AdamW>("{name: adamw, weight_decay: 0.1}", to::AdamWOptions(1).betas({0.9, 0.999}).eps(1e-8).weight_decay(0.1));
  expect_steps_of_torch<to::SGD>("{name: sgd, weight_decay: 0.1}", to::SGDOptions(1).momentum(0.9).weight_decay(0.1));
  expect_steps_of_torch<to::SGD>("{name: sgd, nesterov: true}", to::SGDOptions(1).momentum(0.9).nesterov(true));
  expect_steps_of_torch<to::SGD>("{name: sgd, momentum: 0, weight_decay: 0.2}", to::SGDOptions(1).weight_decay(0.2));
}

TEST(FusedRules, AreSavedInTorchsFormAndGoOnBitForBit) {
  for (const char* yaml : {"adam", "adamw", "sgd", "lars"}) {
    const Config section = parse_yaml(yaml, "r.yaml");
    const auto whole = start(at::kFloat), before = start(at::kFloat);
    const auto uncut = read_optimizer(section).make(given_parameters(whole));
    run(*uncut, whole, 0, 9);
    const auto first = read_optimizer(section).make(given_parameters(before));
    run(*first, before, 0, 2);
    const NamedTensors state = optimizer_state(*first);
    ASSERT_EQ(state.size() % (before.size() - 1), 0) << yaml;  // of the last, nothing yet
    std::vector<torch::Tensor> after;
    for (const auto& tensor : before) after.push_back(tensor.detach().clone().set_requires_grad(true));
    const auto second = read_optimizer(section).make(given_parameters(after));
    load_optimizer_state(*second, state);
    run(*second, after, 2, 9);
    for (size_t i = 0; i < whole.size(); ++i) EXPECT_TRUE(at::equal(whole[i], after[i])) << yaml << " " << i;
  }
}

TEST(FusedRules, MakeAdamIsTheRegisteredAdam) {
  const auto typed = start(at::kFloat), registered = start(at::kFloat);
  const auto a = make_adam(given_parameters(typed), AdamOptions(0.05).betas({0.9, 0.999}).eps(1e-8));
  const auto b = read_optimizer(parse_yaml("{name: adam, learning_rate: 0.05}", "r.yaml")).make(given_parameters(registered));
  run(*a, typed, 0, 5);
  run(*b, registered, 0, 5);
  for (size_t i = 0; i < typed.size(); ++i) EXPECT_TRUE(at::equal(typed[i], registered[i])) << i;
  const NamedTensors state = optimizer_state(*a);
  EXPECT_EQ(state[0].first, "0.exp_avg");
  EXPECT_EQ(state[1].first, "0.exp_avg_sq");
  EXPECT_EQ(state[2].first, "0.step");
  EXPECT_TRUE(at::equal(state[2].second, at::scalar_tensor(5, at::kLong)));
}

}  // namespace fused_rules_test
}  // namespace debias
