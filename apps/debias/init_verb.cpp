#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "apps/debias/arguments.h"
#include "apps/debias/results.h"
#include "apps/debias/verbs.h"
#include "debias/core/error.h"
#include "debias/core/paths.h"
#include "debias/data/folder_survey.h"
#include "debias/data/readers/label_file.h"
#include "debias/data/settled_pixels.h"
#include "debias/process/terminal.h"
#include "debias/report/sections/missing_parts.h"
#include "debias/runs/proposal.h"
#include "debias/runs/survey_text.h"

namespace debias {
namespace {

constexpr int64_t kFewSteps = 300;  // fewer leave every network that is proposed far from what it can learn

struct InitArguments {
  std::string folder, labels, goal, out, from;
  std::vector<std::string> words, groups;
  double minutes = 10;
  bool json = false;
};

bool names_column(const std::string& word) { return word.starts_with("labels."); }

// --labels with the words labels.path, labels.label, labels.bias and labels.group.
Config label_columns(const InitArguments& arguments) {
  const auto first = std::ranges::find_if(arguments.words, names_column);
  const bool names_any = first != arguments.words.end();
  if (!names_any && arguments.groups.empty()) return arguments.labels.empty() ? Config() : Config::string(arguments.labels);
  Config asked = Config::map({{"labels", Config::map()}});
  if (!arguments.labels.empty()) asked.find("labels")->set("file", Config::string(arguments.labels));
  for (const std::string& word : arguments.words) {
    if (names_column(word)) asked.assign(word);
  }
  if (asked.find("labels")->find("file") == nullptr) {
    throw usage_error("init: '{}' names a column of no file; add --labels FILE.csv",
                      names_any ? *first : "--group " + arguments.groups.front());
  }
  if (!arguments.groups.empty()) asked.find("labels")->set("group", Config::string(fmt::format("{}", fmt::join(arguments.groups, ","))));
  return LabelColumns::from_config(*asked.find("labels"), "init: labels").config();
}

Config asked_pixels(const InitArguments& arguments) {
  std::vector<std::string> words = arguments.words;
  std::erase_if(words, names_column);
  return pixel_options(words, "init", "labels.path=, labels.label=, labels.bias= or labels.group=COLUMN, ");
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

void print_remark_on_steps(const FittedProposal& fit) {
  const ProposalInput& proposal = fit.proposal;
  const int64_t steps = fit.plan.steps_per_epoch * proposal.epochs;
  if (steps >= kFewSteps) return;
  const double enough = std::ceil(proposal.minutes * static_cast<double>(kFewSteps) / static_cast<double>(steps));
  fmt::print("note: {} training steps are too few to show much; --minutes {:.0f} would give {}\n", steps, enough, kFewSteps);
}

nlohmann::ordered_json plan_json(const FittedProposal& fit) {
  const ProposalInput& proposal = fit.proposal;
  return {{"goal", enum_name(proposal.goal)},
          {"encoder", fit.network.encoder},
          {"side", fit.network.side},
          {"epochs", proposal.epochs},
          {"seconds_per_step", fit.plan.seconds_per_step},
          {"seconds_per_training", proposal.seconds},
          {"recipe", proposal.corrected.file},
          {"plain_recipe", proposal.plain.file},
          {"next", next_commands(proposal)}};
}

// The words of a command about the same folder: how it is read.
std::string folder_words(const InitArguments& arguments, const std::string& labels, bool with_columns) {
  std::string words = shell_word(arguments.folder) + (labels.empty() ? "" : " --labels " + shell_word(labels));
  for (const std::string& word : arguments.words) {
    if (!word.starts_with("labels.file=") && (with_columns || !names_column(word))) words += " " + shell_word(word);
  }
  if (!arguments.groups.empty()) words += " --group " + shell_word(fmt::format("{}", fmt::join(arguments.groups, ",")));
  return words;
}

// The audit takes columns by their usual names alone.
void print_audit_hint(const InitArguments& arguments, const FolderSurvey& survey) {
  const std::string& csv = survey.train_check.columns.file;
  if (!survey.has_labels() || survey.has_biases()) return;
  if (!csv.empty() && std::ranges::any_of(arguments.words, names_column)) return;
  print_lines(fmt::format("to look for a shortcut first: debias audit {}\n", folder_words(arguments, csv, /*with_columns=*/false)));
}

// A possible bias is never chosen automatically: the command that uses it is shown.
void print_likely_biases(const InitArguments& arguments, const FolderSurvey& survey, const ProposalInput& proposal) {
  const bool unlabelled = survey.train_check.class_names.empty();
  for (const std::string& title : survey.train_check.columns.likely_bias) {
    std::string command = "debias init " + folder_words(arguments, survey.train_check.columns.file, /*with_columns=*/true);
    if (!arguments.goal.empty()) command += " --goal " + arguments.goal;
    if (!arguments.from.empty()) command += " --from " + shell_word(arguments.from);
    if (arguments.minutes != InitArguments().minutes) command += fmt::format(" --minutes {:g}", arguments.minutes);
    const std::filesystem::path recipe = proposal.corrected.file;
    const std::string out = (recipe.parent_path() / (recipe.stem().string() + "-" + file_word(title) + ".yaml")).string();
    command += fmt::format(" {} --out {}", shell_word((unlabelled ? "labels.label=" : "labels.bias=") + title), shell_word(out));
    print_lines(fmt::format("note: column {} has few values, like a {}, and is not used; to use it:\n  {}\n", title,
                            unlabelled ? "class or bias label" : "bias label", command));
  }
}

int run_init(const InitArguments& arguments) {
  const std::optional<InitGoal> asked = asked_goal(arguments.goal);
  require_folder_of(arguments.out);  // before the images are read
  if (arguments.from.ends_with(".safetensors") && !std::filesystem::exists(arguments.from)) {
    throw data_error("init: --from '{}': no such file; pass pretrained weights", arguments.from);
  }
  ProposalInput named = named_proposal(arguments.folder, arguments.out, arguments.minutes);
  const Config labels = label_columns(arguments);
  const FolderSurvey survey = survey_folder(arguments.folder, labels, *terminal_progress(), asked_pixels(arguments));
  if (!arguments.json) print_lines(survey_text(survey, arguments.folder));
  if (!survey.evaluated_bad.empty()) {
    if (arguments.json) print_json(survey_json(survey));
    throw data_error("init: {} of the images for evaluation are damaged, first {}: repair or remove them; no recipe was written",
                     survey.evaluated_bad.size(), survey.evaluated_bad[0].path);
  }
  if (const int64_t left = survey.train_check.count - survey.held_out; left < 2) {
    throw data_error("init: {}: {} of {} images left to train on, and a training step contrasts two: add images", arguments.folder, left,
                     survey.train_check.count);
  }
  named.goal = chosen_goal(asked, survey);
  terminal_log()->info("measuring training steps");
  const FittedProposal fit = fit_to_time(survey, std::move(named), arguments.from);
  const ProposalInput& proposal = fit.proposal;
  write_recipes(survey, fit);
  if (arguments.json) {
    nlohmann::ordered_json json = survey_json(survey);
    json.update(plan_json(fit));
    print_json(json);
    return 0;
  }
  fmt::print("goal: {}\n", goal_text(proposal.goal, asked.has_value(), bias_doubt(survey)));
  print_likely_biases(arguments, survey, proposal);
  print_audit_hint(arguments, survey);
  print_lines(fmt::format("{}: {} epochs of {:.1f} s at {} pixels, {:.1f} minutes per training run on this machine\n",
                          proposal.corrected.file, proposal.epochs, fit.plan.seconds_per_epoch, fit.network.side, proposal.seconds / 60));
  if (!arguments.from.empty()) {
    print_lines(fmt::format("frozen features first: {:.1f} minutes for all images on this machine\n", fit.embedding_seconds / 60));
  }
  print_remark_on_steps(fit);
  fmt::print("next:\n");
  for (const std::string& command : next_commands(proposal)) print_lines("  " + command + "\n");
  return 0;
}

}  // namespace

void add_init_verb(CLI::App& root, VerbAction& action) {
  auto* verb =
      root.add_subcommand("init", "surveys a folder of images and writes two recipes for it: one with the correction, one without");
  auto arguments = std::make_shared<InitArguments>();
  verb->add_option("folder", arguments->folder, "folder of images, with or without class folders, optionally split into train and test")
      ->required();
  verb->add_option("overrides", arguments->words,
                   "labels.bias=COLUMN, labels.label=COLUMN, labels.path=COLUMN, labels.group=COLUMN: other names of the CSV's columns; "
                   "transparency=, bits=, window=[LOW, HIGH]: how pixels are read");
  verb->add_option("--labels", arguments->labels, "CSV of class and bias labels with the header path,label,bias")->option_text("FILE.csv");
  add_group_columns(*verb, "they stay on one side of the evaluation, and are no negatives of each other", arguments->groups);
  verb->add_option("--goal", arguments->goal,
                   "bias: an encoder that does not use a known bias; sampling: an encoder trained without labels")
      ->option_text("bias|sampling");
  verb->add_option("--from", arguments->from,
                   "pretrained weights: F.safetensors or {name: ..., weights: F}; proposes frozen features first")
      ->option_text("ENCODER");
  verb->add_option("--minutes", arguments->minutes, "total time in minutes for the printed commands (10)");
  verb->add_option("--out", arguments->out, "recipe file to write, with RECIPE-plain.yaml next to it (FOLDER.yaml)")
      ->option_text("RECIPE.yaml");
  verb->add_flag("--json", arguments->json, "one JSON object on standard output");
  verb->footer("To find out whether the folder has a shortcut, run debias audit first.\nExample: debias init photos --labels photos.csv");
  verb->callback([arguments, &action] { action = [arguments] { return run_init(*arguments); }; });
}

}  // namespace debias
