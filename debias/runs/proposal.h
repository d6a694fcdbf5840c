// The two recipes that `debias init` writes for a folder of images: fitted to the time that there is, and named after the folder.
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
  double embedding_seconds = 0;  // from weights: the frozen features of all images, without decoding
};

// A name of a file without surprises for a shell: other characters than letters, digits, '-', '_' and '.' become '-'.
std::string file_word(std::string name);

// `out`: the recipe with the correction; empty: the folder's name with .yaml, here. The other one is beside it; run folders are unused
// ones of ./runs. Usage errors: minutes that are not a time, a recipe that exists, an output inside the folder.
ProposalInput named_proposal(const std::string& folder, const std::string& out, double minutes);

// Without a request, kBias where there are labels and bias labels. A usage error for kBias without them.
InitGoal chosen_goal(const std::optional<InitGoal>& asked, const FolderSurvey& survey);

// The largest network that still sees every image often enough in the time, by measured steps; with its epochs and seconds. `from`:
// a file of weights or an encoder's section; fine-tuning starts there, behind the commands of frozen features. Usage and data errors: all that
// training would reject.
FittedProposal fit_to_time(const FolderSurvey& survey, ProposalInput proposal, const std::string& from = "");

// Both recipes, or none.
void write_recipes(const FolderSurvey& survey, const FittedProposal& fit);

}  // namespace debias
