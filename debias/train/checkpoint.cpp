#include "debias/train/checkpoint.h"

#include <ATen/ATen.h>
#include <ATen/Version.h>

#include <filesystem>

#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/encoders/state.h"

namespace debias {
namespace {

constexpr int kFormat = 1;
constexpr const char* kStateKey = "debias.state";
constexpr const char* kRecipeKey = "debias.recipe";

nlohmann::ordered_json optional_json(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

std::optional<double> optional_value(const nlohmann::ordered_json& json) {
  return json.is_null() ? std::nullopt : std::optional<double>(json.get<double>());
}

}  // namespace

nlohmann::ordered_json TrainingState::to_json() const {
  return {{"format", kFormat},
          {"epoch", epoch},
          {"batch", batch},
          {"step", step},
          {"metrics_bytes", metrics_bytes},
          {"loss_sum", loss_sum},
          {"grad_norm_sum", grad_norm_sum},
          {"substituted", substituted},
          {"evidence", evidence.to_json()},
          {"estimates", estimates},
          {"best_value", optional_json(best_value)},
          {"best_epoch", best_epoch},
          {"finished", finished},
          {"threads", threads},
          {"instruction_set", instruction_set}};
}

TrainingState TrainingState::from_json(const nlohmann::ordered_json& json) {
  TrainingState state;
  state.epoch = json.at("epoch").get<int64_t>();
  state.batch = json.at("batch").get<int64_t>();
  state.step = json.at("step").get<int64_t>();
  state.metrics_bytes = json.at("metrics_bytes").get<int64_t>();
  state.loss_sum = json.at("loss_sum").get<double>();
  state.grad_norm_sum = json.at("grad_norm_sum").get<double>();
  state.substituted = json.value("substituted", int64_t{0});                                 // older files never replaced any
  if (json.contains("evidence")) state.evidence = Evidence::from_json(json.at("evidence"));  // older files have totals only
  if (json.contains("estimates")) state.estimates = json.at("estimates").get<std::map<std::string, double>>();  // older files have none
  state.best_value = optional_value(json.at("best_value"));
  state.best_epoch = json.at("best_epoch").get<int64_t>();
  state.finished = json.at("finished").get<bool>();
  state.threads = json.at("threads").get<int64_t>();
  state.instruction_set = json.at("instruction_set").get<std::string>();
  return state;
}

std::string instruction_set() { return at::get_cpu_capability(); }

void save_checkpoint(const std::string& path, const Model& model, const Optimizers& optimizers, const TrainingState& state,
                     const std::string& recipe_yaml) {
  std::vector<std::pair<std::string, torch::Tensor>> named = model.state();
  for (auto& entry : optimizers.state()) named.push_back(std::move(entry));
  std::vector<TensorBytes> tensors;
  for (auto& [name, tensor] : named) {
    tensor = tensor.detach().cpu().contiguous();
    tensors.push_back(bytes_of(name, tensor));
  }
  write_safetensors(path, tensors, {{"format", "pt"}, {kStateKey, state.to_json().dump()}, {kRecipeKey, recipe_yaml}});
}

void save_generation(const std::string& folder, const Model& model, const Optimizers& optimizers, const TrainingState& state,
                     const std::string& recipe_yaml) {
  const std::string last = folder + "/last.safetensors", next = folder + "/next.safetensors";
  save_checkpoint(next, model, optimizers, state, recipe_yaml);
  if (std::filesystem::exists(last)) rename_durably(last, folder + "/previous.safetensors");
  rename_durably(next, last);
}

OpenCheckpoint open_checkpoint(const std::string& path) {
  OpenCheckpoint checkpoint{SafetensorsFile::open(path), {}, ""};
  const auto& metadata = checkpoint.file.metadata();
  const auto state = metadata.find(kStateKey), recipe = metadata.find(kRecipeKey);
  if (state == metadata.end() || recipe == metadata.end()) {
    throw data_error("opening checkpoint '{}': it has no training state; it is a plain weights file (use encoder.weights to start from it)",
                     path);
  }
  if (!verify_safetensors(checkpoint.file)) {
    throw data_error("opening checkpoint '{}': its checksum is missing; the file was altered", path);
  }
  try {
    const auto json = nlohmann::ordered_json::parse(state->second);
    if (json.at("format") != kFormat) {
      throw data_error("opening checkpoint '{}': format {} was expected, found {}; use the version that wrote it", path, kFormat,
                       json.at("format").dump());
    }
    checkpoint.state = TrainingState::from_json(json);
  } catch (const nlohmann::json::exception& error) {
    throw data_error("opening checkpoint '{}': its training state cannot be read ({})", path, error.what());
  }
  checkpoint.recipe_yaml = recipe->second;
  return checkpoint;
}

std::optional<OpenCheckpoint> open_newest(const std::string& folder, Log& log) {
  const std::string last = folder + "/last.safetensors", previous = folder + "/previous.safetensors";
  std::string damage;
  if (std::filesystem::exists(last)) {
    try {
      return open_checkpoint(last);
    } catch (const Error& error) {
      damage = error.what();
    }
  }
  if (std::filesystem::exists(previous)) {
    log.warn(damage.empty() ? fmt::format("no '{}': going on from '{}'", last, previous)
                            : fmt::format("{}; going on from '{}'", damage, previous));
    return open_checkpoint(previous);
  }
  if (!damage.empty()) throw data_error("{}; there is no previous checkpoint to go on from: start again with --overwrite", damage);
  return std::nullopt;
}

void restore(const OpenCheckpoint& checkpoint, const Model& model, const Optimizers& optimizers) {
  load_state(*model.encoder, checkpoint.file, "encoder.");
  load_state(*model.head, checkpoint.file, "head.");
  if (model.classifier != nullptr) load_state(*model.classifier->linear(), checkpoint.file, "classifier.");
  optimizers.load(checkpoint.file);
}

}  // namespace debias
