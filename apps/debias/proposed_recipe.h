// The recipe that `debias init` proposes for a surveyed folder: YAML with comments that say why.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "debias/core/options.h"
#include "debias/data/folder_survey.h"

namespace debias {

// kBias: an encoder that does not use a known bias, by labels and bias values. kSampling: an encoder without labels whose negatives are
// corrected for those of the same class.
enum class InitGoal { kBias, kSampling };
template <>
struct EnumNames<InitGoal> {
  static constexpr std::array<std::pair<std::string_view, InitGoal>, 2> values = {
      {{"bias", InitGoal::kBias}, {"sampling", InitGoal::kSampling}}};
};

struct ProposedNetwork {
  std::string encoder;  // the section's text
  int side = 0;         // of the square pictures that it sees
  double cost = 1;      // of a training step, next to the first one's; floating-point operations
};

// By cost, the first one the least.
const std::vector<ProposedNetwork>& proposed_networks(InitGoal goal);

struct ProposalInput {
  InitGoal goal = InitGoal::kBias;
  std::string name;     // of the recipe and of the run
  std::string file;     // the recipe's
  std::string output;   // run folder of the recipe as it stands
  std::string plain;    // run folder of the comparison
  double minutes = 10;  // for all next commands together
  int64_t epochs = 1;   // of each training
  double seconds = 0;   // of each training, as measured
};

std::string proposed_recipe(const FolderSurvey& survey, const ProposedNetwork& network, const ProposalInput& input);

// Shell commands that lead from the recipe to the report.
std::vector<std::string> next_commands(const ProposalInput& input);

}  // namespace debias
