#include "debias/runs/proposal.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/core/paths.h"
#include "debias/core/printable.h"
#include "debias/data/dataset_registry.h"
#include "debias/report/sections/missing_parts.h"
#include "debias/runs/folder_embedding.h"
#include "debias/runtime/device.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

constexpr double kTrainingShare = 0.4;   // of the minutes, for each of two trainings; the rest is for evaluations and the report
constexpr int64_t kMostEpochs = 100;     // more showed nothing more on a thousand images
constexpr int64_t kMostFineTuning = 20;  // epochs, from weights of a file
constexpr int64_t kTriedImages = 8;      // of the measured forward passes

// The recipe of a folder is called as the folder.
std::string recipe_name(const std::string& folder) {
  fs::path path = fs::absolute(folder).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  const std::string name = file_word(path.filename().string());
  const size_t first = name.find_first_not_of(".-");
  return first == std::string::npos ? "pictures" : name.substr(first);
}

std::string unused(const std::string& path) {
  std::string free = path;
  for (int i = 2; fs::exists(free); ++i) free = fmt::format("{}-{}", path, i);
  return free;
}

ProposedRun run_of(const std::string& recipe) {
  ProposedRun run;
  run.file = recipe;
  run.name = fs::path(recipe).stem().string();
  run.output = unused("runs/" + run.name);
  return run;
}

// photos.yaml: photos-plain.yaml, in the same folder.
std::string plain_beside(const fs::path& recipe) {
  return (recipe.parent_path() / (recipe.stem().string() + "-plain" + recipe.extension().string())).string();
}

std::string bias_advice(const FolderSurvey& survey) {
  const std::vector<std::string>& likely = survey.train_check.columns.likely_bias;
  if (likely.empty()) return "give them with --labels FILE.csv (path,label,bias), or take --goal sampling";
  return fmt::format("the column {} may hold bias labels, and labels.bias={} reads it", likely[0], shell_word(likely[0]));
}

TrainPlan measured_plan(const FolderSurvey& survey, const ProposedNetwork& network, const ProposalInput& proposal) {
  TrainInput input;
  const std::string recipe = proposed_recipe(survey, network, proposal, ProposedPart::kCorrected);
  input.recipe = read_recipe(parse_yaml(recipe, proposal.corrected.file));
  input.dataset = input.recipe.train_data.make_images();
  resolve_recipe(input.recipe, *input.dataset);  // rejects what training would reject
  return plan_training(input);
}

struct Start {
  std::vector<ProposedNetwork> networks;
  double embedding_seconds = 0;
};

Start pretrained_start(const std::string& from, const FolderSurvey& survey) {
  const FrozenEncoder frozen = frozen_encoder(from, "init: --from");
  if (!frozen.views.is_null()) throw usage_error("init: --from {}: it is already a recipe; give the file of weights, or a section", from);
  const int64_t channels = read_data(survey.train).make_images()->info().channels, side = pretrained_side(frozen.encoder);
  const auto encoder = opened_encoder(frozen, channels);
  Start start{fine_tuned_networks(frozen.section, side, encoder->image_side().has_value())};
  const at::NoGradGuard no_grad;
  const at::Tensor images = at::zeros({kTriedImages, channels, side, side});
  encoder->forward(images);  // the first one prepares
  const auto begin = std::chrono::steady_clock::now();
  encoder->forward(images);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const int64_t all = survey.train_check.count + (survey.evaluated_check ? survey.evaluated_check->count : 0);
  start.embedding_seconds = seconds * static_cast<double>(all) / static_cast<double>(kTriedImages);
  return start;
}

}  // namespace

std::string file_word(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c) && c != '-' && c != '_' && c != '.'; }, '-');
  return name;
}

ProposalInput named_proposal(const std::string& folder, const std::string& out, double minutes) {
  if (!(minutes > 0) || !std::isfinite(minutes)) {
    throw usage_error("init: --minutes {}: expected a number above 0, the time for training and evaluation", minutes);
  }
  ProposalInput proposal;
  proposal.minutes = minutes;
  proposal.corrected = run_of(out.empty() ? recipe_name(folder) + ".yaml" : out);
  proposal.plain = run_of(plain_beside(proposal.corrected.file));
  for (const ProposedRun& run : {proposal.corrected, proposal.plain}) {
    if (fs::exists(run.file)) {
      throw usage_error("init: the recipe '{}' exists; nothing is overwritten: choose another name with --out", run.file);
    }
    for (const std::string& path : {run.file, run.output}) refuse_inside_data(path, {folder});
  }
  return proposal;
}

InitGoal chosen_goal(const std::optional<InitGoal>& asked, const FolderSurvey& survey) {
  const InitGoal goal = asked.value_or(survey.has_biases() && bias_doubt(survey).empty() ? InitGoal::kBias : InitGoal::kSampling);
  if (goal == InitGoal::kSampling || survey.has_biases()) return goal;
  throw usage_error("init: --goal bias needs at least two classes and two bias labels, found {} and {}; {}",
                    survey.train_check.class_names.size(), survey.train_check.bias_names.size(), bias_advice(survey));
}

FittedProposal fit_to_time(const FolderSurvey& survey, ProposalInput proposal, const std::string& from) {
  proposal.on_gpu = !resolve_device("auto").is_cpu();
  Start start{proposed_networks()};
  if (!from.empty()) {
    start = pretrained_start(from, survey);
    const fs::path recipe = proposal.corrected.file;
    proposal.frozen_commands = frozen_commands(survey, from, (recipe.parent_path() / recipe.stem()).string(), start.networks.back().side);
  }
  const auto& networks = start.networks;
  const double minutes = std::max(proposal.minutes - start.embedding_seconds / 60, proposal.minutes / 4);
  const double seconds = 60 * minutes * kTrainingShare;
  const int64_t most = networks.front().pretrained ? kMostFineTuning : kMostEpochs;
  const TrainPlan first = measured_plan(survey, networks.front(), proposal);
  FittedProposal fit{networks.front(), first, std::move(proposal), start.embedding_seconds};
  const double room = seconds / (fit.plan.seconds_per_epoch * static_cast<double>(most));
  const auto too_large = std::find_if(networks.begin() + 1, networks.end(), [&](const auto& network) { return network.cost > room; });
  if (too_large != networks.begin() + 1) {
    fit.network = *(too_large - 1);
    fit.plan = measured_plan(survey, fit.network, fit.proposal);
  }
  fit.proposal.epochs = std::clamp<int64_t>(static_cast<int64_t>(seconds / fit.plan.seconds_per_epoch), 1, most);
  fit.proposal.seconds = fit.plan.seconds_per_epoch * static_cast<double>(fit.proposal.epochs);
  return fit;
}

void write_recipes(const FolderSurvey& survey, const FittedProposal& fit) {
  const ProposalInput& proposal = fit.proposal;
  write_file_atomically(proposal.plain.file, proposed_recipe(survey, fit.network, proposal, ProposedPart::kPlain));
  try {
    write_file_atomically(proposal.corrected.file, proposed_recipe(survey, fit.network, proposal, ProposedPart::kCorrected));
  } catch (...) {
    std::error_code ignored;
    fs::remove(proposal.plain.file, ignored);
    throw;
  }
}

}  // namespace debias
