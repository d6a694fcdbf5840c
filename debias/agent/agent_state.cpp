#include "debias/agent/agent_state.h"

#include <algorithm>
#include <cmath>

#include "debias/core/error.h"
#include "debias/train/state_numbers.h"

namespace debias {

void RunningMeans::add(const std::string& name, double value) {
  if (std::isnan(value)) return;
  auto found = std::find_if(sums_.begin(), sums_.end(), [&](const Sum& sum) { return sum.name == name; });
  if (found == sums_.end()) found = sums_.insert(sums_.end(), {name});
  found->sum += value;
  ++found->count;
}

std::vector<std::pair<std::string, double>> RunningMeans::means() const {
  std::vector<std::pair<std::string, double>> all;
  for (const auto& sum : sums_) all.emplace_back(sum.name, sum.sum / static_cast<double>(sum.count));
  return all;
}

nlohmann::ordered_json RunningMeans::to_json() const {
  auto json = nlohmann::ordered_json::array();
  for (const auto& sum : sums_) json.push_back({{"name", sum.name}, {"sum", sum.sum}, {"count", sum.count}});
  return json;
}

RunningMeans RunningMeans::from_json(const nlohmann::ordered_json& json) {
  RunningMeans means;
  for (const auto& sum : json) means.sums_.push_back({sum.at("name").get<std::string>(), number_at(sum, "sum"), count_at(sum, "count")});
  return means;
}

nlohmann::ordered_json AgentState::to_json() const {
  return {{"control_steps", control_steps},
          {"episode", episode},
          {"episode_return", episode_return},
          {"diverged", diverged},
          {"means", means.to_json()},
          {"renderer", renderer},
          {"mujoco", mujoco}};
}

AgentState AgentState::from_json(const nlohmann::ordered_json& json) {
  return {.control_steps = count_at(json, "control_steps"),
          .episode = count_at(json, "episode"),
          .episode_return = number_at(json, "episode_return"),
          .diverged = count_at(json, "diverged"),
          .means = RunningMeans::from_json(json.at("means")),
          .renderer = json.at("renderer").get<std::string>(),
          .mujoco = json.at("mujoco").get<std::string>()};
}

AgentState agent_state_of(const OpenCheckpoint& checkpoint) {
  const std::string& path = checkpoint.file.path();
  const auto found = checkpoint.file.metadata().find(kAgentStateKey);
  if (found == checkpoint.file.metadata().end()) {
    throw data_error("opening checkpoint '{}': it is not an agent checkpoint; use debias train and debias eval", path);
  }
  try {
    return AgentState::from_json(nlohmann::ordered_json::parse(found->second));
  } catch (const nlohmann::json::exception& error) {
    throw data_error("opening checkpoint '{}': its state cannot be read ({})", path, error.what());
  }
}

}  // namespace debias
