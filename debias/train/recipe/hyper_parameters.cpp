#include "debias/train/recipe/hyper_parameters.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "debias/core/proto_message.h"

namespace debias {
namespace {

// Field numbers of plugin_data.proto, api.proto and struct.proto.
constexpr uint32_t kPluginExperiment = 2, kPluginStart = 3, kPluginEnd = 4;
constexpr uint32_t kStartParameters = 1, kEndStatus = 1, kStatusSuccess = 1;
constexpr uint32_t kMapKey = 1, kMapValue = 2;
constexpr uint32_t kValueNumber = 2, kValueString = 3, kValueBool = 4;
constexpr uint32_t kExperimentParameters = 4, kExperimentMetrics = 5;
constexpr uint32_t kInfoName = 1, kMetricInfoName = 1, kMetricNameTag = 2;

void add_leaves(const Config& node, const std::string& path, std::vector<HyperParameter>& leaves) {
  const auto below = [&](const std::string& key) { return path.empty() ? key : path + "." + key; };
  const bool flat = std::ranges::all_of(node.items(), [](const Config& item) { return item.is_scalar() || item.is_null(); });
  if (node.is_map()) {
    for (const auto& [key, value] : node.entries()) add_leaves(value, below(key), leaves);
  } else if (node.is_sequence() && !flat) {
    for (size_t i = 0; i < node.items().size(); ++i) add_leaves(node.items()[i], below(std::to_string(i)), leaves);
  } else if (node.is_sequence()) {
    leaves.emplace_back(path, Config::string(node.to_json().dump()));
  } else if (!node.is_null()) {
    leaves.emplace_back(path, node);
  }
}

ProtoMessage struct_value(const Config& value) {
  double number = 0;
  bool boolean = false;
  if (!value.quoted() && parse_number(value.text(), &number)) return ProtoMessage().real(kValueNumber, number);
  if (!value.quoted() && parse_boolean(value.text(), &boolean)) return ProtoMessage().integer(kValueBool, boolean ? 1 : 0);
  return ProtoMessage().bytes(kValueString, value.text());
}

}  // namespace

std::vector<HyperParameter> hyper_parameters(const Config& resolved) {
  constexpr std::array<std::string_view, 3> kNoParameters = {"output", "expected", "evaluate"};
  std::vector<HyperParameter> leaves;
  for (const auto& [key, value] : resolved.entries()) {
    if (std::ranges::find(kNoParameters, key) == kNoParameters.end()) add_leaves(value, key, leaves);
  }
  return leaves;
}

std::string session_start(const std::vector<HyperParameter>& parameters) {
  ProtoMessage start;
  for (const auto& [name, value] : parameters) {
    start.message(kStartParameters, ProtoMessage().bytes(kMapKey, name).message(kMapValue, struct_value(value)));
  }
  return ProtoMessage().message(kPluginStart, start).serialized();
}

std::string session_success() {
  return ProtoMessage().message(kPluginEnd, ProtoMessage().integer(kEndStatus, kStatusSuccess)).serialized();
}

std::string experiment(const std::vector<std::string>& parameters, const std::vector<std::string>& metrics) {
  ProtoMessage all;
  for (const auto& name : parameters) all.message(kExperimentParameters, ProtoMessage().bytes(kInfoName, name));
  for (const auto& metric : metrics) {
    const ProtoMessage name = ProtoMessage().bytes(kMetricNameTag, metric);
    all.message(kExperimentMetrics, ProtoMessage().message(kMetricInfoName, name));
  }
  return ProtoMessage().message(kPluginExperiment, all).serialized();
}

}  // namespace debias
