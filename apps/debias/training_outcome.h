// The final output of a finished training, of an encoder or an agent.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace debias {

struct TrainingOutcome {
  std::string folder;
  int64_t epochs = 0;
  bool already_finished = false;  // a resumed run that had nothing left to do
  double seconds = 0;
  std::vector<std::pair<std::string, double>> metrics;  // of the last epoch
  std::vector<std::string> notes = {};
};

// On standard output; with `json` as one object, which has `more` as well.
void print_outcome(const TrainingOutcome& outcome, bool json, const nlohmann::ordered_json& more);

}  // namespace debias
