// Runs for tests of the library: trained in this process, and read back; what these tests start from.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "debias/core/npy.h"
#include "debias/core/progress.h"
#include "debias/core/safetensors.h"
#include "debias/runs/training_setup.h"
#include "tests/support/file_text.h"
#include "tests/support/golden_folder.h"
#include "tests/support/kept_log.h"
#include "tests/support/refusals.h"
#include "tests/support/shared_folder.h"
#include "tests/support/small_recipe.h"
#include "tests/support/temporary_folder.h"

namespace debias {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

inline nlohmann::json json_in(const std::string& path) { return nlohmann::json::parse(file_text(path)); }

// What lies in a folder, sorted.
inline std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

// The recipe with key=value words over it.
inline Config recipe_with(const std::string& text, const std::vector<std::string>& words) {
  Config recipe = parse_yaml(text, "recipe.yaml");
  for (const auto& word : words) recipe.assign(word);
  return recipe;
}

// Trains into FOLDER with everything that the command adds: evaluations, estimates, the record of the data.
inline TrainResult train_into(const std::string& folder, const std::string& recipe, std::vector<std::string> words = {},
                              Log& log = Log::silent()) {
  words.push_back("output=" + folder);
  TrainInput input;
  input.recipe = read_recipe(recipe_with(recipe, words));
  input.log = &log;
  return train(set_up_training(std::move(input)).input);
}

// Of metrics.jsonl, a line for each epoch.
inline std::vector<nlohmann::json> epochs_of(const std::string& run) {
  std::vector<nlohmann::json> lines;
  std::istringstream text(file_text(run + "/metrics.jsonl"));
  for (std::string line; std::getline(text, line);) {
    nlohmann::json parsed = nlohmann::json::parse(line);
    if (!parsed.contains("step")) lines.push_back(std::move(parsed));
  }
  return lines;
}

}  // namespace debias
