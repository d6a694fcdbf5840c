#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "apps/debias/proposed_recipe.h"
#include "apps/debias/results.h"
#include "apps/debias/survey_text.h"
#include "apps/debias/terminal.h"
#include "apps/debias/verbs.h"
#include "debias/core/atomic_file.h"
#include "debias/core/data_folder.h"
#include "debias/core/error.h"
#include "debias/data/dataset_registry.h"
#include "debias/data/folder_survey.h"
#include "debias/train/trainer.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

constexpr double kTrainingShare = 0.4;  // of the minutes, for each of two trainings; the rest is for judging and the report
constexpr int64_t kMostEpochs = 100;    // more showed nothing more on a thousand pictures
constexpr int64_t kFewSteps = 300;      // fewer leave every network that is proposed far from what it can learn

struct InitArguments {
  std::string folder, labels, goal, out;
  double minutes = 10;
  bool json = false;
};

// The folder's name as a file name without surprises for a shell.
std::string recipe_name(const std::string& folder) {
  fs::path path = fs::absolute(folder).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  std::string name = path.filename().string();
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c) && c != '-' && c != '_' && c != '.'; }, '-');
  const size_t first = name.find_first_not_of(".-");
  return first == std::string::npos ? "pictures" : name.substr(first);
}

std::string unused(const std::string& path) {
  std::string free = path;
  for (int i = 2; fs::exists(free); ++i) free = fmt::format("{}-{}", path, i);
  return free;
}

ProposalInput named_proposal(const InitArguments& arguments) {
  ProposalInput proposal;
  proposal.minutes = arguments.minutes;
  proposal.file = arguments.out.empty() ? recipe_name(arguments.folder) + ".yaml" : arguments.out;
  proposal.name = fs::path(proposal.file).stem().string();
  proposal.output = unused("runs/" + proposal.name);
  return proposal;
}

void check_arguments(const InitArguments& arguments, const ProposalInput& proposal) {
  if (!(arguments.minutes > 0) || !std::isfinite(arguments.minutes)) {
    throw usage_error("init: --minutes {}: expected a number above 0, the time for training and judging", arguments.minutes);
  }
  if (fs::exists(proposal.file)) {
    throw usage_error("init: the recipe '{}' exists; nothing is overwritten: choose another with --out", proposal.file);
  }
  for (const std::string& path : {proposal.file, proposal.output}) refuse_inside_data(path, {arguments.folder});
}

std::optional<InitGoal> asked_goal(const std::string& word) {
  if (word.empty()) return std::nullopt;
  std::vector<std::string> known;
  for (const auto& [name, goal] : EnumNames<InitGoal>::values) {
    if (name == word) return goal;
    known.emplace_back(name);
  }
  throw usage_error("init: unknown goal '{}'{}", word, suggestion(word, known));
}

InitGoal chosen_goal(const std::optional<InitGoal>& asked, const FolderSurvey& survey) {
  const InitGoal goal = asked.value_or(survey.has_biases() ? InitGoal::kBias : InitGoal::kSampling);
  if (goal == InitGoal::kSampling || survey.has_biases()) return goal;
  throw usage_error("init: --goal bias needs at least two classes and two bias values, found {} and {}; {}",
                    survey.train_check.class_names.size(), survey.train_check.bias_names.size(),
                    "give them with --labels FILE.csv (path,label,bias), or take --goal sampling");
}

TrainPlan measured_plan(const FolderSurvey& survey, const ProposedNetwork& network, const ProposalInput& proposal) {
  TrainInput input;
  input.recipe = read_recipe(parse_yaml(proposed_recipe(survey, network, proposal), proposal.file));
  input.dataset = make_dataset(input.recipe.train_data);
  resolve_recipe(input.recipe, *input.dataset);  // refuses what training would refuse
  return plan_training(input);
}

// The largest network that still sees every picture kMostEpochs times in the time, by the first one's step; and how long it really takes.
struct Fit {
  ProposedNetwork network;
  TrainPlan plan;
};

Fit fit_to_time(const FolderSurvey& survey, ProposalInput& proposal) {
  const auto& networks = proposed_networks(proposal.goal);
  const double seconds = 60 * proposal.minutes * kTrainingShare;
  Fit fit{networks.front(), measured_plan(survey, networks.front(), proposal)};
  const double room = seconds / (fit.plan.seconds_per_epoch * static_cast<double>(kMostEpochs));
  const auto too_large = std::find_if(networks.begin() + 1, networks.end(), [&](const auto& network) { return network.cost > room; });
  if (too_large != networks.begin() + 1) fit = {*(too_large - 1), measured_plan(survey, *(too_large - 1), proposal)};
  proposal.epochs = std::clamp<int64_t>(static_cast<int64_t>(seconds / fit.plan.seconds_per_epoch), 1, kMostEpochs);
  proposal.seconds = fit.plan.seconds_per_epoch * static_cast<double>(proposal.epochs);
  return fit;
}

void print_remark_on_steps(const Fit& fit, const ProposalInput& proposal) {
  const int64_t steps = fit.plan.steps_per_epoch * proposal.epochs;
  if (steps >= kFewSteps) return;
  const double enough = std::ceil(proposal.minutes * static_cast<double>(kFewSteps) / static_cast<double>(steps));
  fmt::print("note: {} steps of training are few and will show little; --minutes {:.0f} would give {}\n", steps, enough, kFewSteps);
}

nlohmann::ordered_json plan_json(const Fit& fit, const ProposalInput& proposal) {
  return {{"goal", enum_name(proposal.goal)},
          {"encoder", fit.network.encoder},
          {"side", fit.network.side},
          {"epochs", proposal.epochs},
          {"seconds_per_step", fit.plan.seconds_per_step},
          {"seconds_per_training", proposal.seconds},
          {"recipe", proposal.file},
          {"next", next_commands(proposal)}};
}

int run_init(const InitArguments& arguments) {
  ProposalInput proposal = named_proposal(arguments);
  check_arguments(arguments, proposal);
  const std::optional<InitGoal> asked = asked_goal(arguments.goal);
  const FolderSurvey survey = survey_folder(arguments.folder, arguments.labels, *terminal_progress());
  if (!arguments.json) print_lines(survey_text(survey, arguments.folder));
  if (!survey.judged_bad.empty()) {
    if (arguments.json) print_json(survey_json(survey));
    throw data_error("init: {} damaged files are among those to be judged, the first {}: repair or remove them; no recipe was written",
                     survey.judged_bad.size(), survey.judged_bad[0].path);
  }
  proposal.goal = chosen_goal(asked, survey);
  proposal.plain = unused(proposal.output + (proposal.goal == InitGoal::kBias ? "-plain" : "-infonce"));
  terminal_log()->info("measuring training steps");
  const Fit fit = fit_to_time(survey, proposal);
  write_file_atomically(proposal.file, proposed_recipe(survey, fit.network, proposal));
  if (arguments.json) {
    nlohmann::ordered_json json = survey_json(survey);
    json.update(plan_json(fit, proposal));
    print_json(json);
    return 0;
  }
  fmt::print("goal: {}\n", goal_text(proposal.goal, asked.has_value()));
  print_lines(fmt::format("{}: {} epochs of {:.1f} s at {} pixels, {:.1f} minutes a training on this machine\n", proposal.file,
                          proposal.epochs, fit.plan.seconds_per_epoch, fit.network.side, proposal.seconds / 60));
  print_remark_on_steps(fit, proposal);
  fmt::print("next:\n");
  for (const std::string& command : next_commands(proposal)) print_lines("  " + command + "\n");
  return 0;
}

}  // namespace

void add_init_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("init", "looks at a folder of pictures and writes a recipe for it");
  auto arguments = std::make_shared<InitArguments>();
  verb->add_option("folder", arguments->folder, "pictures: class folders, in train and test or not, or no classes at all")->required();
  verb->add_option("--labels", arguments->labels, "labels and bias values by path: a CSV with the header path,label,bias")
      ->option_text("FILE.csv");
  verb->add_option("--goal", arguments->goal, "bias: an encoder that does not use a known bias; sampling: one without labels")
      ->option_text("bias|sampling");
  verb->add_option("--minutes", arguments->minutes, "for the commands that it prints, together; 10 where not given");
  verb->add_option("--out", arguments->out, "the recipe; FOLDER's name with .yaml where not given")->option_text("RECIPE.yaml");
  verb->add_flag("--json", arguments->json, "one JSON object on standard output");
  verb->footer("Example: debias init photos --labels photos.csv");
  verb->callback([arguments, &action] { action = [arguments] { return run_init(*arguments); }; });
}

}  // namespace debias
