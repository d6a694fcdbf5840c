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

// kBias: an encoder that does not use a known bias, by labels and bias labels. kSampling: an encoder without labels whose negatives are
// corrected for those of the same class.
enum class InitGoal { kBias, kSampling };
template <>
struct EnumNames<InitGoal> {
  static constexpr std::array<std::pair<std::string_view, InitGoal>, 2> values = {
      {{"bias", InitGoal::kBias}, {"sampling", InitGoal::kSampling}}};
};

struct ProposedNetwork {
  std::string encoder;  // the section's text
  int side = 0;         // of the square images that it sees
  double cost = 1;      // of a training step, next to the first one's; floating-point operations
  bool pretrained = false;
};

// By cost, the least one first. `debias export` writes each of them as ONNX.
const std::vector<ProposedNetwork>& proposed_networks();

// The same for weights from a file, whose section this is: images of up to `side` pixels, or of this size alone.
std::vector<ProposedNetwork> fine_tuned_networks(const Config& section, int64_t side, bool fixed);

// The two recipes that init writes: with the correction, and without it to compare with.
enum class ProposedPart { kCorrected, kPlain };

struct ProposedRun {
  std::string name;    // of the recipe and of the run
  std::string file;    // the recipe's
  std::string output;  // the run folder
};

struct ProposalInput {
  InitGoal goal = InitGoal::kBias;
  ProposedRun corrected, plain;
  double minutes = 10;                       // for all next commands together
  int64_t epochs = 1;                        // of each training
  double seconds = 0;                        // of each training, as measured
  bool on_gpu = false;                       // training will run there: in bfloat16
  std::vector<std::string> frozen_commands;  // that come before the trainings: what the weights give as they are
};

// The commands that embed the surveyed folder by `encoder` (what --from says), look for shortcuts in the features, and correct them: the
// last two only with labels, the last only with bias labels. `stem` begins the names of the files.
std::vector<std::string> frozen_commands(const FolderSurvey& survey, const std::string& encoder, const std::string& stem);

std::string proposed_recipe(const FolderSurvey& survey, const ProposedNetwork& network, const ProposalInput& input, ProposedPart part);

// Shell commands that lead from the recipes to the report.
std::vector<std::string> next_commands(const ProposalInput& input);

}  // namespace debias
