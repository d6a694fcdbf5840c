#include "debias/agent/agent_checkpoint.h"

#include <ATen/ATen.h>

#include "debias/core/error.h"
#include "debias/encoders/state.h"
#include "debias/train/training_state.h"

namespace debias {
namespace {

constexpr const char* kActionsName = "episode.actions";

}  // namespace

std::optional<AgentCheckpoint> open_newest_agent(const std::string& folder, Log& log) {
  std::optional<OpenCheckpoint> common = open_newest(folder, log);
  if (!common) return std::nullopt;
  const auto& metadata = common->file.metadata();
  const auto found = metadata.find(kAgentStateKey);
  const std::string path = common->file.path();
  if (found == metadata.end()) throw data_error("opening checkpoint '{}': it is none of an agent; use debias train and debias eval", path);
  try {
    AgentState state = AgentState::from_json(nlohmann::ordered_json::parse(found->second));
    return AgentCheckpoint{std::move(*common), std::move(state)};
  } catch (const nlohmann::json::exception& error) {
    throw data_error("opening checkpoint '{}': its state cannot be read ({})", path, error.what());
  }
}

void save_agent(const std::string& folder, const SavedAgent& saved, const TrainingState& common, const AgentState& state,
                const std::string& recipe_yaml) {
  auto named = saved.agent.state();
  for (const auto& [name, tensor] : named) {
    if (!tensor.is_floating_point() || at::isfinite(tensor).all().item<bool>()) continue;
    throw numeric_error("training stopped after step {}: '{}' is not finite, so it is not saved; lower the learning rate", common.step,
                        name);
  }
  if (saved.replay != nullptr) {
    for (auto& entry : saved.replay->state()) named.push_back(std::move(entry));
    named.emplace_back(kActionsName, at::tensor(saved.actions, at::kFloat));
  }
  Metadata metadata = stored_metadata(common, {recipe_yaml, {}, {}});
  metadata[kAgentStateKey] = json_text(state.to_json());
  save_generation(folder, [&](const std::string& path) { save_checkpoint(path, std::move(named), std::move(metadata)); });
}

std::vector<float> saved_actions(const SafetensorsFile& file, int64_t actions_per_step) {
  const TensorEntry* entry = file.find(kActionsName);
  if (entry == nullptr) throw data_error("'{}': tensor '{}' is missing", file.path(), kActionsName);
  const at::Tensor tensor = read_tensor(file, *entry);
  if (tensor.scalar_type() != at::kFloat || tensor.dim() != 1 || tensor.numel() % actions_per_step != 0) {
    throw data_error("'{}': tensor '{}' holds no actions of {} numbers each", file.path(), kActionsName, actions_per_step);
  }
  return {tensor.data_ptr<float>(), tensor.data_ptr<float>() + tensor.numel()};
}

}  // namespace debias
