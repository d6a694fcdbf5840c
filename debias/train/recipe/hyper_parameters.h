// Input of TensorBoard's hparams plugin: a table of runs by their options.
//
// Each run's event file has its options (session start) and its end. A file in the sweep's folder names the options that differ and the
// metric to show (the experiment). The messages are those of tensorboard/plugins/hparams/{plugin_data,api}.proto, written by hand
// like those of metric_files.h.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "debias/core/config.h"

namespace debias {

// A number, a boolean or a text, as in the recipe.
using HyperParameter = std::pair<std::string, Config>;

// The leaves of a resolved recipe ("objective.0.tau_plus") without `output`, `expected` and `evaluate`. Lists become text.
std::vector<HyperParameter> hyper_parameters(const Config& resolved);

// Contents of HParamsPluginData.
std::string session_start(const std::vector<HyperParameter>& parameters);
std::string session_success();
std::string experiment(const std::vector<std::string>& parameters, const std::vector<std::string>& metrics);

// The plugin's name, and the tags of its summaries.
inline constexpr const char* kHyperPlugin = "hparams";
inline constexpr const char* kSessionStartTag = "_hparams_/session_start_info";
inline constexpr const char* kSessionEndTag = "_hparams_/session_end_info";
inline constexpr const char* kExperimentTag = "_hparams_/experiment";

}  // namespace debias
