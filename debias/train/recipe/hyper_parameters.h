// Input of TensorBoard's hparams plugin: a table of runs by their options.
//
// Each run's event file says its options (session start) and that it has ended; a sweep's folder has a file that says which of them differ
// and which metric to show (the experiment). The messages are those of tensorboard/plugins/hparams/{plugin_data,api}.proto, written by hand
// like those of tensorboard.h.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "debias/core/config.h"

namespace debias {

// A number, a boolean or a word, as the recipe has it.
using HyperParameter = std::pair<std::string, Config>;

// The leaves of a resolved recipe but for where it is written and what is expected of it: "objective.0.tau_plus". Lists are words.
std::vector<HyperParameter> hyper_parameters(const Config& resolved);

// Contents of HParamsPluginData.
std::string session_start(const std::vector<HyperParameter>& parameters);
std::string session_success();
std::string experiment(const std::vector<std::string>& parameters, const std::vector<std::string>& metrics);

// Tags of the summaries that hold them, and the plugin's name.
inline constexpr const char* kHyperPlugin = "hparams";
inline constexpr const char* kSessionStartTag = "_hparams_/session_start_info";
inline constexpr const char* kSessionEndTag = "_hparams_/session_end_info";
inline constexpr const char* kExperimentTag = "_hparams_/experiment";

}  // namespace debias
