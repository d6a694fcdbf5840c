// Two updates in double precision against tests/agent/reference_update.py, which shares no pass of a network between its steps.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "debias/agent/agent.h"
#include "debias/agent/agent_recipe.h"
#include "debias/core/error.h"
#include "debias/encoders/state.h"
#include "tests/support/finite_differences.h"
#include "tests/support/golden_folder.h"

namespace debias {
namespace agent_update_test {

constexpr int64_t kRows = 4;
const NetworkShape kShape{.channels = 9, .pixels = 20, .filters = 4, .features = 6, .hidden = 8, .actions = 2};

// The script's numbers in [0, 1).
at::Tensor numbers(const std::string& name, at::IntArrayRef sizes) {
  const at::Tensor tensor = at::empty(sizes, at::kDouble);
  uint64_t state = 1;
  for (const char character : name) state = (state * 31 + static_cast<uint64_t>(character)) % (1ULL << 31);
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    state = (1103515245 * state + 12345) % (1ULL << 31);
    tensor.data_ptr<double>()[i] = static_cast<double>(state) * 0x1p-31;
  }
  return tensor;
}

at::Tensor pictures(const std::string& name) { return (numbers(name, {kRows, 9, 20, 20}) * 256).floor().to(at::kByte); }

AgentBatch batch_of(int step) {
  const std::string at = std::to_string(step);
  return {.seen = pictures("seen" + at),
          .next = pictures("next" + at),
          .positives = at::stack({pictures("positive0" + at), pictures("positive1" + at)}),
          .actions = (numbers("actions" + at, {kRows, 2}) - 0.5) * 2,
          .rewards = numbers("rewards" + at, {kRows}),
          .noise_next = (numbers("noise_next" + at, {kRows, 2}) - 0.5) * 2,
          .noise = (numbers("noise" + at, {kRows, 2}) - 0.5) * 2};
}

AgentNetworks reference_networks() {
  AgentNetworks networks(kShape, 0.1, 1);
  networks->to(at::kDouble);
  const at::NoGradGuard no_grad;
  for (auto& [name, tensor] : named_state(*networks)) {
    if (name == "log_temperature") {
      tensor.fill_(std::log(0.1));
      continue;
    }
    tensor.copy_((numbers(name, tensor.sizes()) - 0.5) * 0.6);
    if (name.ends_with("norm.weight")) tensor.add_(1);
  }
  return networks;
}

AgentRecipe recipe_with(const std::string& objective) {
  return read_agent_recipe(parse_yaml("environment: {task: cartpole_swingup}\nobjective: " + objective + "\n", "test"));
}

std::shared_ptr<const Objective> objective_of(const std::string& text) { return recipe_with(text).make_objective(); }

TEST(AgentUpdateTest, TwoUpdatesAgreeWithPlainPyTorchInDouble) {
  std::ifstream file(golden_folder("agent") + "/update.json");
  const nlohmann::json known = nlohmann::json::parse(file);
  Agent agent(reference_networks(), AgentOptions(), objective_of("{name: debiased_negatives, tau_plus: 0.1, positives: 2}"));
  for (int step = 0; step < 2; ++step) {
    const UpdateReport report = agent.update(batch_of(step), step);
    const auto& expected = known["reports"][static_cast<size_t>(step)];
    EXPECT_NEAR(report.critic_loss, expected["critic_loss"].get<double>(), 1e-12);
    EXPECT_NEAR(report.contrastive_loss, expected["contrastive_loss"].get<double>(), 1e-12);
    EXPECT_EQ(report.clamped, expected["clamped"].get<double>());
    if (step == 0) {
      EXPECT_NEAR(report.actor_loss, expected["actor_loss"].get<double>(), 1e-12);
    }
    if (step == 0) {
      EXPECT_NEAR(report.entropy, expected["entropy"].get<double>(), 1e-12);
    }
    if (step == 1) {
      EXPECT_TRUE(std::isnan(report.actor_loss));
    }
  }
  int64_t compared = 0;
  for (const auto& [name, tensor] : named_state(*agent.networks())) {
    const at::Tensor flat = tensor.detach().reshape({-1});
    const auto& sums = known["sums"][name];
    EXPECT_NEAR(flat.dot(numbers("first sum", {flat.numel()})).item<double>(), sums[0].get<double>(), 1e-10) << name;
    EXPECT_NEAR(flat.dot(numbers("second sum", {flat.numel()})).item<double>(), sums[1].get<double>(), 1e-10) << name;
    ++compared;
  }
  EXPECT_EQ(compared, static_cast<int64_t>(known["sums"].size()));
}

TEST(AgentUpdateTest, EveryObjectiveThatARecipeMayNameTrainsTheEncoder) {
  for (const auto& name : agent_objectives()) {
    Agent agent(reference_networks(), AgentOptions(), objective_of(name));
    const at::Tensor before = agent.networks()->bilinear.detach().clone();
    AgentBatch batch = batch_of(0);
    batch.positives = batch.positives.slice(0, 0, 1);
    const UpdateReport report = agent.update(batch, 0);
    EXPECT_TRUE(std::isfinite(report.contrastive_loss)) << name;
    EXPECT_FALSE(at::equal(before, agent.networks()->bilinear)) << name;
    EXPECT_TRUE(at::isfinite(agent.networks()->bilinear).all().item<bool>()) << name;
  }
}

// Scores as rows: the anchor has them as its coordinates, keys are the unit vectors.
double loss_of(const std::string& objective, const std::vector<double>& scores, const std::vector<double>& more_positives = {}) {
  const auto n = static_cast<int64_t>(scores.size());
  ObjectiveInput input{.z = at::zeros({n, 1, n}, at::kDouble)};
  input.z[0][0].copy_(at::tensor(scores, at::kDouble));
  input.keys = at::eye(n, at::kDouble);
  input.key_samples = at::arange(n, at::kLong);
  std::vector<at::Tensor> positives = {input.keys};
  for (const double score : more_positives) positives.push_back(at::eye(n, at::kDouble) * (score / scores[0]));
  input.positives = at::stack(positives, 1);
  return (*objective_of(objective))(input).per_anchor[0].item<double>();
}

TEST(ContrastiveLossTest, HasTheKnownValuesOfRowsOfScores) {
  const std::string biased = "{name: infonce}", debiased = "{name: debiased_negatives, tau_plus: 0.1}";
  EXPECT_NEAR(loss_of(biased, {1.0, 0.5, -0.3, 2.0}), 1.5254788, 1e-7);
  EXPECT_NEAR(loss_of(debiased, {1.0, 0.5, -0.3, 2.0}), 1.5398125, 1e-7);
  EXPECT_NEAR(loss_of(biased, {6.0, 0.5, -0.3, 2.0}), 0.0239496, 1e-7);
  EXPECT_NEAR(loss_of(debiased, {6.0, 0.5, -0.3, 2.0}), 0, 1e-20);
  EXPECT_NEAR(loss_of(debiased, {1.0, 0.5, -0.3, 2.0}, {1.5}), 1.5163563, 1e-7);
}

TEST(AgentUpdateTest, LikelihoodOfAnActionIsThatOfTheSquashedNormal) {
  AgentNetworks networks = reference_networks();
  const at::Tensor convolved = numbers("convolved", {1, networks->critic->convolutions->outputs()}) - 0.5;
  const auto action_at = [&](const at::Tensor& noise) { return networks->actor->draw(convolved, noise).action[0]; };
  const at::Tensor noise = at::tensor({0.3, -0.8}, at::kDouble).unsqueeze(0);
  // p(a) = N(noise) / |da/dnoise|, the two actions being independent.
  double log_likelihood = -0.5 * noise.square().sum().item<double>() - std::log(2 * std::numbers::pi);
  for (int64_t i = 0; i < 2; ++i) {
    const at::Tensor slope = numeric_gradient([&](const at::Tensor& at) { return action_at(at)[i].item<double>(); }, noise);
    log_likelihood -= std::log(std::abs(slope[0][i].item<double>()));
  }
  EXPECT_NEAR(networks->actor->draw(convolved, noise).log_likelihood[0].item<double>(), log_likelihood, 1e-4);  // the 1e-6 in the log
}

TEST(AgentUpdateTest, GradientOfTheEncoderIsThatOfFiniteDifferences) {
  AgentNetworks networks = reference_networks();
  const auto objective = objective_of("{name: debiased_negatives, tau_plus: 0.1}");
  const at::Tensor seen = pictures("seen0"), keys = numbers("keys", {kRows, 6}) - 0.5;
  const auto loss_at = [&] {
    const at::Tensor z = networks->critic->features(networks->critic->convolutions(seen)).matmul(networks->bilinear);
    ObjectiveInput input{.z = z.unsqueeze(1)};
    input.keys = keys;
    input.key_samples = at::arange(kRows, at::kLong);
    input.positives = keys.unsqueeze(1);
    return (*objective)(input).value;
  };
  loss_at().backward();
  for (auto& [name, tensor] : named_state(*networks)) {
    if (name != "bilinear" && name != "critic.convolutions.conv3.weight" && name != "critic.features.norm.bias") continue;
    const at::Tensor kept = tensor.detach().clone(), gradient = tensor.grad();
    const at::NoGradGuard no_grad;
    const at::Tensor numeric = numeric_gradient(
        [&, into = tensor](const at::Tensor& at) {
          into.detach().copy_(at);
          return loss_at().item<double>();
        },
        kept);
    tensor.copy_(kept);
    EXPECT_LT(largest_difference(gradient, numeric), 1e-7) << name;
  }
}

TEST(AgentUpdateTest, WithoutAnObjectiveTheBilinearScoreAndItsOptimizersAreLeftAlone) {
  Agent agent(reference_networks(), AgentOptions(), nullptr);
  const at::Tensor before = agent.networks()->bilinear.detach().clone();
  const UpdateReport report = agent.update(batch_of(0), 0);
  EXPECT_TRUE(std::isnan(report.contrastive_loss));
  EXPECT_TRUE(at::equal(before, agent.networks()->bilinear));
  for (const auto& [name, tensor] : agent.state()) EXPECT_FALSE(name.starts_with("optimizer.encoder.")) << name;
}

TEST(AgentUpdateTest, RewardThatIsNoNumberNeverReachesTheWeights) {
  Agent agent(reference_networks(), AgentOptions(), nullptr);
  AgentBatch batch = batch_of(0);
  batch.rewards[2] = std::nan("");
  EXPECT_THROW(agent.update(batch, 0), Error);
  for (const auto& [name, tensor] : named_state(*agent.networks())) EXPECT_TRUE(at::isfinite(tensor).all().item<bool>()) << name;
}

}  // namespace agent_update_test
}  // namespace debias
