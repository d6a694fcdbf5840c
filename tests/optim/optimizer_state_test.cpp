#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "debias/core/error.h"
#include "debias/optim/optimizer.h"
#include "tests/optim/given_parameters.h"
#include "tests/support/refusals.h"
#include "tests/support/registry_names.h"

namespace debias {
namespace optimizer_state_test {

using State = NamedTensors;

// Two parameters that descend a fixed bumpy function; the second takes part from its fourth step on. The rule has them in two groups, the
// second first.
struct Descent {
  explicit Descent(const std::string& name, const std::vector<torch::Tensor>& from = {}) {
    const std::vector<torch::Tensor> start =
        from.empty() ? std::vector<torch::Tensor>{at::linspace(-1, 1, 24).view({2, 3, 2, 2}), at::linspace(0, 2, 5)} : from;
    for (const auto& tensor : start) parameters.push_back(tensor.detach().clone().set_requires_grad(true));
    optimizer = read_optimizer(parse_yaml("{name: " + name + ", learning_rate: 0.05, weight_decay: 0.01, no_decay: [bias]}", "r.yaml"))
                    .make(given_parameters(parameters, {ParameterKind::kBias, ParameterKind::kWeight}));
  }

  void run(int first, int last) {
    for (int step = first; step < last; ++step) {
      optimizer->zero_grad();
      torch::Tensor loss = at::sin(parameters[0] * (step + 1)).sum();
      if (step >= 3) loss = loss + at::cos(parameters[1] * step).sum();
      loss.backward();
      optimizer->step();
    }
  }

  std::vector<torch::Tensor> parameters;
  std::unique_ptr<Optimizer> optimizer;
};

State copy(const State& state) {
  State result;
  for (const auto& [name, tensor] : state) result.emplace_back(name, tensor.clone());
  return result;
}

std::vector<std::string> names(const State& state) {
  std::vector<std::string> result;
  for (const auto& entry : state) result.push_back(entry.first);
  return result;
}

class OptimizerState : public testing::TestWithParam<std::string> {};

TEST_P(OptimizerState, GoingOnAfterLoadingIsBitForBitTheSame) {
  for (const int cut : {0, 2, 5}) {
    Descent whole(GetParam()), before(GetParam());
    whole.run(0, 9);
    before.run(0, cut);
    Descent after(GetParam(), before.parameters);
    load_optimizer_state(*after.optimizer, copy(optimizer_state(*before.optimizer)));
    after.run(cut, 9);
    for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(at::equal(whole.parameters[i], after.parameters[i])) << cut << " " << i;
    const State a = optimizer_state(*whole.optimizer), b = optimizer_state(*after.optimizer);
    ASSERT_EQ(names(a), names(b));
    for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(at::equal(a[i].second, b[i].second)) << a[i].first;
  }
}

TEST_P(OptimizerState, WithoutItTheStateIsMissed) {  // so that the test above can fail
  Descent whole(GetParam()), before(GetParam());
  whole.run(0, 9);
  before.run(0, 5);
  Descent after(GetParam(), before.parameters);
  after.run(5, 9);
  EXPECT_FALSE(at::equal(whole.parameters[0], after.parameters[0]));
}

TEST_P(OptimizerState, LoadingDoesNotShareMemory) {
  Descent before(GetParam());
  before.run(0, 5);
  State state = copy(optimizer_state(*before.optimizer));
  Descent after(GetParam(), before.parameters);
  load_optimizer_state(*after.optimizer, state);
  state[0].second.zero_();
  EXPECT_TRUE(at::equal(optimizer_state(*before.optimizer)[0].second, optimizer_state(*after.optimizer)[0].second));
}

TEST_P(OptimizerState, ChannelsLastParametersKeepTheirLayout) {
  const auto layout = at::MemoryFormat::ChannelsLast;
  const std::vector<torch::Tensor> start = {at::linspace(-1, 1, 24).view({2, 3, 2, 2}).contiguous(layout), at::linspace(0, 2, 5)};
  Descent whole(GetParam(), start), before(GetParam(), start);
  whole.run(0, 9);
  before.run(0, 5);
  State state = copy(optimizer_state(*before.optimizer));
  for (auto& entry : state) entry.second = entry.second.contiguous();  // as a file gives it
  Descent after(GetParam(), before.parameters);
  load_optimizer_state(*after.optimizer, state);
  EXPECT_TRUE(optimizer_state(*after.optimizer)[0].second.is_contiguous(layout));
  after.run(5, 9);
  EXPECT_TRUE(at::equal(whole.parameters[0], after.parameters[0]));
}

TEST_P(OptimizerState, NeverSteppedIsEmpty) {
  Descent fresh(GetParam());
  EXPECT_TRUE(optimizer_state(*fresh.optimizer).empty());
  Descent other(GetParam());
  other.run(0, 2);
  load_optimizer_state(*other.optimizer, {});
  EXPECT_TRUE(optimizer_state(*other.optimizer).empty());
}

TEST_P(OptimizerState, FaultsAreDataErrorsAndChangeNothing) {
  Descent source(GetParam());
  source.run(0, 5);
  const State good = copy(optimizer_state(*source.optimizer));
  Descent taking(GetParam());
  taking.run(0, 4);
  EXPECT_NO_THROW(load_optimizer_state(*taking.optimizer, good));
  const auto expect_refused = [&](const State& state, const std::string& fault) {
    SCOPED_TRACE(fault);
    Descent target(GetParam());
    target.run(0, 4);
    const State before = copy(optimizer_state(*target.optimizer));
    data_error_of([&] { load_optimizer_state(*target.optimizer, state); });
    const State after = optimizer_state(*target.optimizer);
    EXPECT_EQ(names(before), names(after));
    for (size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(at::equal(before[i].second, after[i].second));
  };
  for (size_t i = 0; i < good.size(); ++i) {
    State state = good;
    state[i].second = at::zeros({7});
    expect_refused(state, "shape of " + good[i].first);
    state[i].second = good[i].second.to(at::kHalf);
    expect_refused(state, "type of " + good[i].first);
    state[i] = {"9.exp_avg", good[i].second};
    expect_refused(state, "unknown name for " + good[i].first);
  }
  State twice = good;
  twice.push_back(good[0]);
  expect_refused(twice, "a tensor that appears twice");
}

INSTANTIATE_TEST_SUITE_P(Registry, OptimizerState, testing::ValuesIn(names_of(optimizer_registry())),
                         [](const auto& entry) { return entry.param; });

TEST(OptimizerStateNames, AreInParameterOrder) {
  Descent adam("adam"), sgd("sgd");
  adam.run(0, 5);
  sgd.run(0, 5);
  EXPECT_EQ(names(optimizer_state(*adam.optimizer)),
            (std::vector<std::string>{"0.exp_avg", "0.exp_avg_sq", "0.step", "1.exp_avg", "1.exp_avg_sq", "1.step"}));
  EXPECT_EQ(names(optimizer_state(*sgd.optimizer)), (std::vector<std::string>{"0.momentum_buffer", "1.momentum_buffer"}));
  const torch::Tensor step = optimizer_state(*adam.optimizer)[5].second;
  EXPECT_EQ(step.dim(), 0);
  EXPECT_EQ(step.scalar_type(), at::kLong);
  EXPECT_EQ(step.item<int64_t>(), 2);  // the second parameter joined late
}

TEST(OptimizerStateNames, AParameterIsNamedWhereItsStateDoesNotFit) {
  Descent source("adam");
  source.run(0, 5);
  State state = copy(optimizer_state(*source.optimizer));
  state[3].second = at::zeros({6});
  EXPECT_EQ(
      data_error_of([&] { load_optimizer_state(*source.optimizer, state); }),
      "optimizer state: tensor '1.exp_avg' of parameter '1': expected Float [5], found Float [6]; the checkpoint is of another model");
}

TEST(OptimizerStateNames, AdamNeedsAllItsTensors) {
  Descent source("adam");
  source.run(0, 2);
  State state = copy(optimizer_state(*source.optimizer));
  state.erase(state.begin() + 1);
  EXPECT_THROW(load_optimizer_state(*source.optimizer, state), Error);
  state = copy(optimizer_state(*source.optimizer));
  state[2].second.zero_();
  EXPECT_THROW(load_optimizer_state(*source.optimizer, state), Error);
}

TEST(OptimizerStateNames, AnotherOptimizersStateIsRefused) {
  Descent adam("adam"), sgd("sgd");
  adam.run(0, 2);
  sgd.run(0, 2);
  EXPECT_THROW(load_optimizer_state(*sgd.optimizer, copy(optimizer_state(*adam.optimizer))), Error);
  EXPECT_THROW(load_optimizer_state(*adam.optimizer, copy(optimizer_state(*sgd.optimizer))), Error);
}

}  // namespace optimizer_state_test
}  // namespace debias
