#include "debias/agent/agent.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "debias/core/error.h"
#include "debias/encoders/state.h"
#include "debias/optim/fused_rules.h"

namespace debias {
namespace {

constexpr double kNotDue = std::numeric_limits<double>::quiet_NaN();
constexpr const char *kNetworksPrefix = "agent.", *kOptimizersPrefix = "optimizer.";

using Tensors = std::vector<at::Tensor>;

double checked(const at::Tensor& loss, const char* what, int64_t step) {
  const double value = loss.item<double>();
  if (std::isfinite(value)) return value;
  throw numeric_error("training stopped at update {}: the {} is {}; lower the learning rate", step, what, value);
}

std::vector<OptimizedParameter> joined_parameters(std::vector<OptimizedParameter> all, std::vector<OptimizedParameter> more) {
  for (auto& parameter : more) all.push_back(std::move(parameter));
  return all;
}

Tensors tensors_of(const Optimizer& optimizer) {
  Tensors all;
  for (const auto& parameter : optimizer.parameters()) all.push_back(parameter.tensor);
  return all;
}

// Gradients of these parameters and of no others.
void differentiate(const at::Tensor& loss, Optimizer& of) {
  of.zero_grad();
  const Tensors inputs = tensors_of(of);
  loss.backward({}, /*retain_graph=*/std::nullopt, /*create_graph=*/false, inputs);
}

void approach(const torch::nn::Module& target, const torch::nn::Module& source, double rate) {
  const auto to = target.parameters(), from = source.parameters();
  at::_foreach_lerp_(to, from, rate);
}

}  // namespace

Agent::Agent(AgentNetworks networks, const AgentOptions& options, std::shared_ptr<const Objective> contrastive)
    : networks_(std::move(networks)), options_(options), contrastive_(std::move(contrastive)) {
  const double rate = options_.learning_rate;
  const auto encoder = joined_parameters(optimized_parameters(*networks_->critic->convolutions, "critic.convolutions."),
                                         optimized_parameters(*networks_->critic->features, "critic.features."));
  add_optimizer("critic", optimized_parameters(*networks_->critic, "critic."), rate, {0.9, 0.999});
  add_optimizer("actor", optimized_parameters(*networks_->actor, "actor."), rate, {0.9, 0.999});
  add_optimizer("temperature", {{"log_temperature", networks_->log_temperature, ParameterKind::kWeight}},
                options_.temperature_learning_rate, {0.5, 0.999});
  if (contrastive_ == nullptr) return;
  add_optimizer("encoder", encoder, rate, {0.9, 0.999});
  add_optimizer("contrastive", joined_parameters(encoder, {{"bilinear", networks_->bilinear, ParameterKind::kWeight}}), rate, {0.9, 0.999});
}

void Agent::add_optimizer(const char* name, std::vector<OptimizedParameter> parameters, double learning_rate, std::vector<double> betas) {
  const auto options = torch::optim::AdamOptions(learning_rate).betas({betas[0], betas[1]});
  optimizers_.push_back({name, make_adam(std::move(parameters), options)});
}

Optimizer& Agent::optimizer(const char* name) {
  for (auto& candidate : optimizers_) {
    if (candidate.name == name) return *candidate.optimizer;
  }
  throw std::logic_error(name);
}

UpdateReport Agent::update(const AgentBatch& batch, int64_t step) {
  UpdateReport report{.critic_loss = kNotDue, .actor_loss = kNotDue, .entropy = kNotDue, .contrastive_loss = kNotDue, .clamped = kNotDue};
  train_critic(batch, step, report);
  const bool actor_is_due = step % options_.actor_every == 0;
  at::Tensor convolved;
  if (actor_is_due || contrastive_ != nullptr) {
    const at::AutoGradMode with_gradient(contrastive_ != nullptr);
    convolved = networks_->critic->convolutions(batch.seen);
  }
  if (actor_is_due) train_actor(batch, convolved.detach(), step, report);
  if (step % options_.target_every == 0) follow();
  if (contrastive_ != nullptr) train_encoder(batch, convolved, step, report);
  report.temperature = networks_->log_temperature.item<double>();
  report.temperature = std::exp(report.temperature);
  return report;
}

void Agent::train_critic(const AgentBatch& batch, int64_t step, UpdateReport& report) {
  at::Tensor wanted;
  {
    const at::NoGradGuard no_grad;
    const DrawnAction next = networks_->actor->draw(networks_->critic->convolutions(batch.next), batch.noise_next);
    const auto [first, second] = networks_->target->values(networks_->target->convolutions(batch.next), next.action);
    const at::Tensor value = at::minimum(first, second) - networks_->log_temperature.exp() * next.log_likelihood;
    wanted = batch.rewards + options_.discount * value;
  }
  const auto [first, second] = networks_->critic->values(networks_->critic->convolutions(batch.seen), batch.actions);
  const at::Tensor loss = (first - wanted).square().mean() + (second - wanted).square().mean();
  report.critic_loss = checked(loss, "critic's loss", step);
  Optimizer& critic = optimizer("critic");
  differentiate(loss, critic);
  critic.step();
}

void Agent::train_actor(const AgentBatch& batch, const at::Tensor& convolved, int64_t step, UpdateReport& report) {
  const DrawnAction drawn = networks_->actor->draw(convolved, batch.noise);
  const auto [first, second] = networks_->critic->values(convolved, drawn.action);
  const at::Tensor temperature = networks_->log_temperature.exp();
  const at::Tensor loss = (temperature.detach() * drawn.log_likelihood - at::minimum(first, second)).mean();
  report.actor_loss = checked(loss, "actor's loss", step);
  Optimizer& actor = optimizer("actor");
  differentiate(loss, actor);
  actor.step();
  const at::Tensor entropy = -drawn.log_likelihood.detach();
  report.entropy = entropy.mean().item<double>();
  const double wanted = -static_cast<double>(batch.actions.size(1));
  Optimizer& of_temperature = optimizer("temperature");
  differentiate((temperature * (entropy - wanted)).mean(), of_temperature);
  of_temperature.step();
}

void Agent::follow() const {
  const at::NoGradGuard no_grad;
  const Critic &target = networks_->target, &critic = networks_->critic;
  approach(*target->first, *critic->first, options_.head_rate);
  approach(*target->second, *critic->second, options_.head_rate);
  approach(*target->convolutions, *critic->convolutions, options_.encoder_rate);
  approach(*target->features, *critic->features, options_.encoder_rate);
}

void Agent::train_encoder(const AgentBatch& batch, const at::Tensor& convolved, int64_t step, UpdateReport& report) {
  const int64_t rows = batch.seen.size(0);
  Tensors keys;
  {
    const at::NoGradGuard no_grad;
    for (int64_t i = 0; i < batch.positives.size(0); ++i) {
      keys.push_back(networks_->target->features(networks_->target->convolutions(batch.positives[i])));
    }
  }
  ObjectiveInput input{.z = networks_->critic->features(convolved).matmul(networks_->bilinear).unsqueeze(1)};
  input.keys = keys.front();
  input.key_samples = at::arange(rows, at::kLong);
  input.positives = at::stack(keys, 1);
  const ObjectiveResult found = (*contrastive_)(input);
  report.contrastive_loss = checked(found.value, "contrastive loss", step);
  report.clamped = static_cast<double>(found.clamped) / static_cast<double>(found.clamped_of());
  Optimizer& with_bilinear = optimizer("contrastive");
  differentiate(found.value, with_bilinear);
  optimizer("encoder").step();
  with_bilinear.step();
}

at::Tensor Agent::act(const at::Tensor& pictures, const at::Tensor& noise) const {
  const at::NoGradGuard no_grad;
  const at::Tensor convolved = networks_->critic->convolutions(pictures);
  return noise.defined() ? networks_->actor->draw(convolved, noise).action : networks_->actor->mean(convolved);
}

std::vector<std::pair<std::string, at::Tensor>> Agent::state() const {
  auto all = named_state(*networks_, kNetworksPrefix);
  for (const auto& [name, rule] : optimizers_) {
    for (auto& [part, tensor] : optimizer_state(*rule)) all.emplace_back(kOptimizersPrefix + name + "." + part, tensor);
  }
  return all;
}

void Agent::load(const SafetensorsFile& file) {
  load_state(*networks_, file, kNetworksPrefix);
  for (auto& [name, rule] : optimizers_) {
    const std::string prefix = kOptimizersPrefix + name + ".";
    NamedTensors parts;
    for (const auto& entry : file.tensors()) {
      if (entry.name.starts_with(prefix)) parts.emplace_back(entry.name.substr(prefix.size()), read_tensor(file, entry));
    }
    load_optimizer_state(*rule, parts);
  }
}

}  // namespace debias
