#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/instancenorm.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/modules/rnn.h>

#include <map>

#include "debias/optim/fused_rules.h"
#include "debias/optim/optimizer.h"
#include "tests/optim/given_parameters.h"
#include "tests/support/refusals.h"

namespace debias {
namespace optimizer_test {

namespace nn = torch::nn;

Config section(const std::string& yaml) { return parse_yaml(yaml, "r.yaml"); }

// 1e60 times a weight's decay has no place in a float: torch's own exception has no type of its own.
TEST(Optimizer, AStepThatDoesNotFitIntoAFloatIsANumericError) {
  for (const char* yaml : {"{name: sgd, learning_rate: 1e60}", "{name: adam, learning_rate: 1e60}", "{name: adam, weight_decay: 1e60}",
                           "{name: lars, weight_decay: 1e60, no_decay: []}"}) {
    torch::Tensor x = at::ones({1}, at::kFloat).set_requires_grad(true);
    const auto optimizer = read_optimizer(section(yaml)).make(given_parameters({x}));
    x.mutable_grad() = at::ones({1}, at::kFloat);
    try {
      optimizer->step();
      ADD_FAILURE() << yaml;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kNumeric) << yaml;
      EXPECT_STREQ(error.what(), "the optimizer's step does not fit into a 32-bit number; lower the learning rate or the weight decay");
    }
  }
}

TEST(Optimizer, AnErrorOfAnotherKindStaysThatOfTorch) {
  torch::Tensor x = at::ones({1}, at::kFloat).set_requires_grad(true);
  const auto optimizer = read_optimizer(section("sgd")).make(given_parameters({x}));
  x.mutable_grad() = at::ones({2, 3}, at::kFloat);  // which a parameter of one number cannot take
  EXPECT_THROW(optimizer->step(), c10::Error);
}

TEST(Optimizer, DefaultsAreResolved) {
  EXPECT_EQ(
      read_optimizer(section("adam")).section.to_json().dump(),
      R"({"name":"adam","learning_rate":0.001,"betas":[0.9,0.999],"eps":1e-08,"weight_decay":0,"no_decay":[],"clip_norm":"none","clip_norm_per_tensor":"none"})");
  EXPECT_EQ(
      read_optimizer(section("{name: sgd, learning_rate: 0.03}")).section.to_json().dump(),
      R"({"name":"sgd","learning_rate":0.03,"momentum":0.9,"nesterov":false,"weight_decay":0,"no_decay":[],"clip_norm":"none","clip_norm_per_tensor":"none"})");
  for (const auto& entry : optimizer_registry()) {
    const Config resolved = read_optimizer(Config::string(entry.name)).section;
    EXPECT_EQ(read_optimizer(section(resolved.to_yaml())).section, resolved);
    EXPECT_EQ(resolved.entries().size(), entry.options.size() + 1);
  }
}

TEST(Optimizer, LearningRateIsReadAndSet) {
  EXPECT_EQ(read_optimizer(section("adam")).learning_rate, 1e-3);
  EXPECT_EQ(read_optimizer(section("{name: sgd, learning_rate: 0.3}")).learning_rate, 0.3);
  torch::Tensor x = at::ones({1}).set_requires_grad(true);
  const auto optimizer = read_optimizer(section("{name: sgd, momentum: 0}")).make(given_parameters({x}));
  set_learning_rate(*optimizer, 0.25);
  x.mutable_grad() = at::ones({1});
  optimizer->step();
  EXPECT_EQ(x.item<float>(), 0.75f);
}

std::string message(const std::string& yaml) {
  return usage_error_of([&] { read_optimizer(section(yaml)).make(given_parameters({at::ones({1}).set_requires_grad(true)})); });
}

TEST(Optimizer, MistakesAreNamed) {
  EXPECT_EQ(message("adma"), "r.yaml:1: unknown optimizer 'adma'; did you mean 'adam'?");
  EXPECT_TRUE(message("{name: adam, momentum: 0.9}").starts_with("r.yaml:1: optimizer 'adam': unknown option 'momentum'; "));
  EXPECT_EQ(message("{name: adam, betas: [0.9]}"), "r.yaml:1: optimizer 'adam': betas: expected two numbers, found 1");
  EXPECT_EQ(message("{name: sgd, momentum: 1}"), "r.yaml:1: optimizer 'sgd': momentum: 1 is out of range; give a value in [0, 1)");
  EXPECT_EQ(message("{name: sgd, learning_rate: -1}"),
            "r.yaml:1: optimizer 'sgd': learning_rate: -1 is out of range; give a value that is >= 0");
  EXPECT_EQ(message("{name: adamw, no_decay: [bais]}"),
            "r.yaml:1: optimizer 'adamw': no_decay: unknown value 'bais'; did you mean 'bias'?");
  EXPECT_EQ(message("{name: adam, no_decay: norm}"),
            "r.yaml:1: optimizer 'adam': no_decay: expected a list such as [norm, bias], found norm");
  EXPECT_EQ(message("{name: lars, clip_norm: 0}"), "r.yaml:1: optimizer 'lars': clip_norm: 0 is out of range; give a value that is > 0");
  for (const char* name : {"sgd", "lars"}) {
    EXPECT_EQ(message(std::string("{name: ") + name + ", momentum: 0, nesterov: true}"),
              std::string("r.yaml:1: optimizer '") + name + "': nesterov: true needs a momentum above 0; give one, or leave nesterov out");
  }
}

// Names mislead on purpose.
struct Network : nn::Module {
  Network() {
    register_module("bias", nn::Linear(3, 4));
    register_module("norm", nn::Conv2d(nn::Conv2dOptions(3, 2, 1).bias(false)));
    register_module("layers", nn::Sequential(nn::Conv1d(2, 3, 1), nn::BatchNorm1d(3), nn::LayerNorm(nn::LayerNormOptions({3}))));
    register_module("plain", nn::BatchNorm2d(nn::BatchNorm2dOptions(5).affine(false)));
    register_module("weights", nn::GroupNorm(1, 4));
    register_module("instance", nn::InstanceNorm2d(nn::InstanceNorm2dOptions(4).affine(true)));
    register_module("memory", nn::GRU(2, 3));
    register_parameter("norm_bias", torch::zeros({2}));
  }
};

TEST(OptimizedParameters, KindsFollowFromTheLayersAndTheOrderIsTheModules) {
  const Network network;
  const auto parameters = optimized_parameters(network, "net.");
  const auto expected = network.named_parameters();
  ASSERT_EQ(parameters.size(), expected.size());
  std::map<std::string, ParameterKind> kinds;
  for (size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_EQ(parameters[i].name, "net." + expected[i].key());
    EXPECT_TRUE(parameters[i].tensor.is_same(expected[i].value()));
    kinds[expected[i].key()] = parameters[i].kind;
  }
  using enum ParameterKind;
  EXPECT_EQ(kinds, (std::map<std::string, ParameterKind>{{"norm_bias", kWeight},
                                                         {"bias.weight", kWeight},
                                                         {"bias.bias", kBias},
                                                         {"norm.weight", kWeight},
                                                         {"layers.0.weight", kWeight},
                                                         {"layers.0.bias", kBias},
                                                         {"layers.1.weight", kNormWeight},
                                                         {"layers.1.bias", kNormBias},
                                                         {"layers.2.weight", kNormWeight},
                                                         {"layers.2.bias", kNormBias},
                                                         {"weights.weight", kNormWeight},
                                                         {"weights.bias", kNormBias},
                                                         {"instance.weight", kNormWeight},
                                                         {"instance.bias", kNormBias},
                                                         {"memory.weight_ih_l0", kWeight},
                                                         {"memory.weight_hh_l0", kWeight},
                                                         {"memory.bias_ih_l0", kBias},
                                                         {"memory.bias_hh_l0", kBias}}));
}

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

}  // namespace optimizer_test
}  // namespace debias
