// The recipe that `debias init` proposes for a surveyed folder: YAML with comments that give the reasons.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/core/enum_names.h"
#include "debias/data/folder_survey.h"

namespace debias {

// kBias: training with labels and bias labels against a known bias. kSampling: training without labels, with a correction for false
// negatives.
enum class InitGoal { kBias, kSampling };
constexpr auto enum_words(InitGoal) { return named("bias", "sampling"); }

struct ProposedNetwork {
  std::string encoder;  // text of the section
  int side = 0;         // of its square input images
  double cost = 1;      // floating-point operations of a training step, relative to the first entry
  bool pretrained = false;
};

// In increasing order of cost. `debias export` can write each of them as ONNX.
const std::vector<ProposedNetwork>& proposed_networks();

// The same for the weights of `section`: images of up to `side` pixels, or of exactly this size.
std::vector<ProposedNetwork> fine_tuned_networks(const Config& section, int64_t side, bool fixed);

// The two recipes that init writes: with the correction, and without it for comparison.
enum class ProposedPart { kCorrected, kPlain };

struct ProposedRun {
  std::string name;    // of the recipe and of the run
  std::string file;    // of the recipe
  std::string output;  // the run folder
};

struct ProposalInput {
  InitGoal goal = InitGoal::kBias;
  ProposedRun corrected, plain;
  double minutes = 10;                       // for all following commands together
  int64_t epochs = 1;                        // of each training
  double seconds = 0;                        // of each training, as measured
  bool on_gpu = false;                       // training will run on a GPU, in bfloat16
  std::vector<std::string> frozen_commands;  // before the trainings: evaluate the weights as they are
};

// The commands that embed the surveyed folder by `encoder` (the value of --from), audit the features (with labels), and fix them (with
// labels and enough bias labels, bias_doubt). `stem` is the prefix of the file names, `side` that of the images that the encoder sees.
std::vector<std::string> frozen_commands(const FolderSurvey& survey, const std::string& encoder, const std::string& stem, int64_t side);

std::string proposed_recipe(const FolderSurvey& survey, const ProposedNetwork& network, const ProposalInput& input, ProposedPart part);

// Shell commands that lead from the recipes to the report.
std::vector<std::string> next_commands(const ProposalInput& input);

}  // namespace debias
