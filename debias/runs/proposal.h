// The two recipes that `debias init` writes for a folder of images: fitted to the available time, and named after the folder.
//
//   const FolderSurvey survey = survey_folder("photos", Config(), progress);
//   ProposalInput proposal = named_proposal("photos", "", 10);
//   proposal.goal = chosen_goal(std::nullopt, survey);
//   write_recipes(survey, fit_to_time(survey, proposal));  // photos.yaml and photos-plain.yaml
#pragma once

#include <optional>
#include <string>

#include "debias/data/folder_survey.h"
#include "debias/runs/proposed_recipe.h"
#include "debias/train/loop/trainer.h"

namespace debias {

struct FittedProposal {
  ProposedNetwork network;
  TrainPlan plan;  // of one training, as measured
  ProposalInput proposal;
  double embedding_seconds = 0;  // with weights: time for the features of all images, without decoding
};

// A file name that needs no quoting in a shell: characters other than letters, digits, '-', '_' and '.' become '-'.
std::string file_word(std::string name);

// `out` is the recipe with the correction; if empty, the folder's name with .yaml in the current folder. The other recipe is written beside
// it. Run folders are unused names in ./runs. Usage errors: minutes out of range, a recipe that exists, an output inside the folder.
ProposalInput named_proposal(const std::string& folder, const std::string& out, double minutes);

// The requested goal; without a request, kBias if there are labels and enough bias labels (bias_doubt). Usage error for kBias without any.
InitGoal chosen_goal(const std::optional<InitGoal>& asked, const FolderSurvey& survey);

// Chooses the largest network that sees every image often enough in the time, from measured steps, and sets epochs and seconds. `from` is a
// file of weights or an encoder's section; fine-tuning starts from it, and the commands on frozen features come first. Usage and data
// errors: those of training.
FittedProposal fit_to_time(const FolderSurvey& survey, ProposalInput proposal, const std::string& from = "");

// Writes both recipes or none.
void write_recipes(const FolderSurvey& survey, const FittedProposal& fit);

}  // namespace debias
