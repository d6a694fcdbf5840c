#include "debias/train/state/resume.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <sys/mman.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/core/recipe_keys.h"
#include "debias/core/sha256.h"
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

namespace {

constexpr int64_t kChunk = 32 << 20;

at::Tensor chunk_of(int64_t bytes) { return at::zeros({bytes}, at::kByte); }

Error broken_off(const std::string& path) { return resource_error("reading '{}' for the other ranks: it broke off; check the disk", path); }

std::string recipe_difference(const std::string& leaders, const std::string& other) {
  for (const auto& change : config_changes(parse_yaml(leaders, "rank 0"), parse_yaml(other, "this rank"))) {
    if (changes_training(change.key)) return fmt::format("{} is {} on rank 0 and {} there", change.key, change.then, change.now);
  }
  return "";
}

std::string data_difference(const std::string& leaders, const std::string& other) {
  const auto read = [](const std::string& text) { return fingerprint_from_json(nlohmann::ordered_json::parse(text)); };
  const auto lines = differences(read(leaders), read(other), 1);
  return lines.empty() ? "" : fmt::format("{} (then: on rank 0; now: there)", lines.front());
}

std::string hash_of(const NamedTensors& weights) {
  Sha256 hash;
  for (const auto& [name, tensor] : weights) {
    const at::Tensor bytes = tensor.detach().cpu().contiguous();
    hash.update(static_cast<const char*>(bytes.const_data_ptr()), bytes.nbytes());
  }
  return hash.hex();
}

}  // namespace

void give_checkpoint(const std::string& path, const Ranks& ranks) {
  if (ranks.is_alone()) return;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const auto size = static_cast<int64_t>(file.tellg());
  if (!file || size <= 0) throw broken_off(path);
  ranks.take_from_leader({at::full({1}, size, at::kLong)});
  file.seekg(0);
  for (int64_t at = 0; at < size; at += kChunk) {
    const at::Tensor chunk = chunk_of(std::min(kChunk, size - at));
    if (!file.read(static_cast<char*>(chunk.mutable_data_ptr()), chunk.numel())) throw broken_off(path);
    ranks.take_from_leader({chunk});
  }
}

OpenCheckpoint take_checkpoint(const Ranks& ranks) {
  const at::Tensor length = at::zeros({1}, at::kLong);
  ranks.take_from_leader({length});
  const auto size = length.item<int64_t>();
  Descriptor memory(memfd_create("checkpoint of rank 0", MFD_CLOEXEC));
  if (memory.value() < 0) throw resource_error("taking rank 0's checkpoint: no memory for its {} bytes", size);
  for (int64_t at = 0; at < size; at += kChunk) {
    const at::Tensor chunk = chunk_of(std::min(kChunk, size - at));
    ranks.take_from_leader({chunk});
    if (write(memory.value(), chunk.const_data_ptr(), static_cast<size_t>(chunk.numel())) != chunk.numel()) {
      throw resource_error("taking rank 0's checkpoint: no memory for its {} bytes", size);
    }
  }
  OpenCheckpoint checkpoint = open_checkpoint(fmt::format("/proc/self/fd/{}", memory.value()));
  memory.release();  // open until the process ends: tensors are read from it later
  return checkpoint;
}

void require_same_training(const Config& recipe, const DataRecord& data, const Ranks& ranks) {
  const auto images = data.sets.find("train");
  const std::string listing =
      images == data.sets.end() ? "" : to_json(images->second).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  require_same({{"the version", fmt::format("debias {}, libtorch {}", DEBIAS_VERSION, TORCH_VERSION)},
                {"the recipe", recipe.to_yaml(), recipe_difference},
                {"the training images", listing, data_difference}},
               ranks);
}

void require_same_weights(const NamedTensors& weights, const std::string& when, const Ranks& ranks) {
  if (ranks.is_alone()) return;
  const auto words = [&](const std::string&, const std::string&) { return when; };
  require_same({{"the weights", hash_of(weights), words}}, ranks);
}

}  // namespace debias
