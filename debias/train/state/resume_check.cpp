#include "debias/train/state/resume_check.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <set>

#include "debias/core/error.h"
#include "debias/core/recipe_keys.h"
#include "debias/train/state/run_folder.h"

namespace debias {
namespace {

// `class 2 of the training set was "cat", now it is "dog"`; empty where they are the same, as far as JSON can hold them.
std::string first_difference(const NameTable& then, const NameTable& now) {
  const auto between = [](const char* what, const std::vector<std::string>& a, const std::vector<std::string>& b) -> std::string {
    for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
      const std::string was = i < a.size() ? json_text(a[i]) : "absent", is = i < b.size() ? json_text(b[i]) : "absent";
      if (was != is) return fmt::format("{} {} of the training set was {}, now it is {}", what, i, was, is);
    }
    return "";
  };
  const std::string classes = between("class", then.classes, now.classes);
  return classes.empty() ? between("bias label", then.biases, now.biases) : classes;
}

bool changes_selection(const std::string& key) {
  if (key == "evaluate.every" || key == "evaluate.protocols" || key == "evaluate.on_error") return false;
  return key.starts_with("evaluate.") || key.starts_with("views.eval") || key.starts_with("data.valid");
}

}  // namespace

void require_possible(const OpenCheckpoint& checkpoint, int64_t epochs) {
  const TrainingState& state = checkpoint.state;
  if (state.epoch <= epochs && state.finished == (state.epoch == epochs)) return;
  throw data_error("resuming from '{}': it says epoch {} of {}{}; it was altered: start again with --overwrite", checkpoint.file.path(),
                   state.epoch, epochs, state.finished ? ", finished" : "");
}

void require_fitting(const OpenCheckpoint& checkpoint, const TrainingShape& shape, const std::string& run) {
  const TrainingState& state = checkpoint.state;
  if (state.batch > shape.batches) {
    throw data_error("resuming '{}': '{}' says batch {} of {}; it was altered: start again with --overwrite", run, checkpoint.file.path(),
                     state.batch, shape.batches);
  }
  if (const size_t terms = state.diagnostics.terms.size(); terms != 0 && terms != shape.terms) {
    throw data_error("resuming '{}': '{}' has the diagnostics of {} terms of {}; it was altered: start again with --overwrite", run,
                     checkpoint.file.path(), terms, shape.terms);
  }
}

std::vector<std::string> changes_of_machine(const TrainingState& then, int64_t ranks) {
  std::vector<std::string> changes;
  if (then.threads != at::get_num_threads() || then.instruction_set != instruction_set()) {
    changes.push_back(fmt::format("the run used {} threads and {}, now {} and {}: results may differ in the last digits", then.threads,
                                  then.instruction_set, at::get_num_threads(), instruction_set()));
  }
  if (then.ranks != ranks) {
    changes.push_back(
        fmt::format("the run used {} processes, now {}: sums have another order, and batch normalisation may use other parts of a batch",
                    then.ranks, ranks));
  }
  return changes;
}

ResumeCheck check_resume(const OpenCheckpoint& checkpoint, const RunDescription& now, const std::string& run_folder, DataChange data_change,
                         Log& log) {
  const std::string differs = checkpoint.names ? first_difference(*checkpoint.names, now.names) : "";
  if (!differs.empty()) throw data_error("resuming '{}': {}; resume with the data that the run began with", run_folder, differs);
  ResumeCheck check;
  std::set<std::string> replaced;
  const Config then = parse_yaml(checkpoint.recipe_yaml, checkpoint.file.path());
  for (const auto& [key, before, after] : config_changes(then, now.recipe)) {
    if (changes_training(key)) {
      throw usage_error(
          "resuming '{0}': its config.yaml was edited at '{1}' ({2} in the checkpoint, {3} now); restore it: debias checkpoint show {0} "
          "--recipe > {0}/config.yaml",
          run_folder, key, before, after);
    }
    if (key == "output" || key == "name" || key == "expected") continue;
    log.info(fmt::format("changed at resume: {}: {} before, {} from now on", key, before, after));
    check.forgets_best = check.forgets_best || changes_selection(key);
    for (const char* split : {"valid", "test"}) {
      if (key.starts_with(fmt::format("data.{}", split))) replaced.insert(split);
    }
  }
  check.accepted = checkpoint.data.accepted;
  for (const auto& line :
       compare_data(checkpoint.data, now.data, run_folder, replaced, data_change, fmt::format("resuming '{}'", run_folder), log)) {
    check.accepted.push_back(fmt::format("after step {}: {}", checkpoint.state.step, line));
  }
  return check;
}

}  // namespace debias
