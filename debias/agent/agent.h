// Soft actor-critic on images with a contrastive step on their encoder.
//
// One update, of a batch drawn from the replay:
//   critic       Q1 and Q2 towards y = reward + discount (min Q'(next, a') - temperature log pi(a' | next)), Q' the target's, a' the actor's
//   actor        each `actor_every` updates: temperature log pi - min Q, through convolutions that it does not train; then the temperature
//                towards an entropy of -actions
//   target       each `target_every` updates: heads by `head_rate`, encoder by `encoder_rate` of the way to the critic's
//   contrastive  anchors W^T z of one crop, keys z' of another by the target's encoder; any objective that takes keys. Two optimizers step
//                on its gradient, one of the encoder, one of encoder and W, as in the authors' code
// The convolutions change in the critic's step alone (and in the contrastive one, after all else): one pass of them after that step serves
// both actor and anchors.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "debias/agent/agent_recipe.h"
#include "debias/agent/networks.h"
#include "debias/core/safetensors.h"
#include "debias/losses/objective.h"
#include "debias/optim/optimizer.h"

namespace debias {

struct AgentBatch {
  at::Tensor seen, next;         // uint8 [B, channels, crop, crop], of one transition each
  at::Tensor positives;          // [P, B, ...]: other crops of `seen`
  at::Tensor actions;            // [B, actions]
  at::Tensor rewards;            // [B]
  at::Tensor noise_next, noise;  // standard normal [B, actions], of the actions drawn in the critic's and the actor's step
};

// Losses of one update; NaN if the step was not due.
struct UpdateReport {
  double critic_loss = 0;
  double actor_loss = 0, entropy = 0, temperature = 0;
  double contrastive_loss = 0, clamped = 0;  // share of the anchors
};

class Agent {
 public:
  // `contrastive`: null for soft actor-critic alone. The networks may be of any floating type.
  Agent(AgentNetworks networks, const AgentOptions& options, std::shared_ptr<const Objective> contrastive);

  // Update number `step`, from 0. Throws a numeric error where a loss is not finite, with all weights as they were before that part of it.
  UpdateReport update(const AgentBatch& batch, int64_t step);

  // Actions [B, actions] for centre crops uint8 [B, channels, crop, crop]: the policy's centre, or drawn with `noise`.
  at::Tensor act(const at::Tensor& pictures, const at::Tensor& noise = {}) const;

  const AgentNetworks& networks() const { return networks_; }
  std::vector<std::pair<std::string, at::Tensor>> state() const;  // "agent." networks, "optimizer.NAME."
  void load(const SafetensorsFile& file);

 private:
  struct NamedOptimizer {
    std::string name;
    std::unique_ptr<Optimizer> optimizer;
  };
  Optimizer& optimizer(const char* name);
  void add_optimizer(const char* name, std::vector<OptimizedParameter> parameters, double learning_rate, std::vector<double> betas);
  void train_critic(const AgentBatch& batch, int64_t step, UpdateReport& report);
  void train_actor(const AgentBatch& batch, const at::Tensor& convolved, int64_t step, UpdateReport& report);
  void train_encoder(const AgentBatch& batch, const at::Tensor& convolved, int64_t step, UpdateReport& report);
  void follow() const;

  mutable AgentNetworks networks_;  // whose modules compute without const
  AgentOptions options_;
  std::shared_ptr<const Objective> contrastive_;
  std::vector<NamedOptimizer> optimizers_;
};

}  // namespace debias
