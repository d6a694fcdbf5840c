#include "debias/optim/optimizer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/optim/given_parameters.h"
#include "tests/support/refusals.h"

namespace debias {
namespace optimizer_test {

Config section(const std::string& yaml) { return parse_yaml(yaml, "r.yaml"); }

// One scalar in double that starts at 1, and where it is after each of three given gradients.
std::vector<double> path(const std::string& yaml) {
  torch::Tensor x = at::ones({1}, at::kDouble).set_requires_grad(true);
  const auto optimizer = read_optimizer(section(yaml)).make(given_parameters({x}));
  std::vector<double> result;
  for (const double gradient : {0.5, -0.2, 0.1}) {
    x.mutable_grad() = at::full({1}, gradient, at::kDouble);
    optimizer->step();
    result.push_back(x.item<double>());
  }
  return result;
}

void expect_near(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-14) << "step " << i;
}

// Kingma and Ba 2015, algorithm 1, worked in Python's doubles.
TEST(Optimizer, AdamIsAlgorithmOne) {
  expect_near(path("{name: adam, learning_rate: 0.1}"), {0.900000002, 0.8654394181165108, 0.8275002408356956});
}

// The first step of Adam is the learning rate whatever the gradient's size; with decoupled decay it would be 1 - 0.1 - 0.05.
TEST(Optimizer, WeightDecayOfAdamIsAddedToTheGradient) {
  expect_near(path("{name: adam, learning_rate: 0.1, weight_decay: 0.5}"), {0.900000001, 0.8169402487459406, 0.7310876968763043});
}

TEST(Optimizer, AdamTakesBetasAndEps) {
  expect_near(path("{name: adam, learning_rate: 0.1, weight_decay: 0.5, betas: [0.8, 0.9], eps: 1e-3}"),
              {0.9000999000999, 0.8182537035761343, 0.7325858894102149});
}

// v <- 0.9 v + g + 0.5 x, x <- x - 0.1 v: 1, then v = 1, 0.9 + 0.25, 1.035 + 0.4925.
TEST(Optimizer, SgdHasMomentumAndL2) {
  expect_near(path("{name: sgd, learning_rate: 0.1, momentum: 0.9, weight_decay: 0.5}"), {0.9, 0.785, 0.63225});
  expect_near(path("{name: sgd, learning_rate: 0.1, momentum: 0}"), {0.95, 0.97, 0.96});
}

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

}  // namespace optimizer_test
}  // namespace debias
