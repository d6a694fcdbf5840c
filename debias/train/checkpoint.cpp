#include "debias/train/checkpoint.h"

#include <ATen/ATen.h>
#include <ATen/Version.h>

#include <filesystem>

#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/encoders/state.h"
#include "debias/train/state_numbers.h"

namespace debias {
namespace {

constexpr int kFormat = 1;
constexpr const char* kStateKey = "debias.state";
constexpr const char* kRecipeKey = "debias.recipe";
constexpr const char* kNamesKey = "debias.classes";
constexpr const char* kDataKey = "debias.data";

nlohmann::ordered_json optional_json(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

std::map<std::string, double> estimates_from_json(const nlohmann::ordered_json& json) {
  std::map<std::string, double> estimates;
  for (const auto& [option, value] : json.items()) estimates[option] = number_at(json, option.c_str());
  return estimates;
}

NameTable names_from_json(const nlohmann::ordered_json& json) { return {json.at("classes"), json.at("biases")}; }

}  // namespace

std::string json_text(const nlohmann::ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

nlohmann::ordered_json to_json(const NameTable& names) { return {{"classes", names.classes}, {"biases", names.biases}}; }

nlohmann::ordered_json TrainingState::to_json() const {
  nlohmann::ordered_json failed = nlohmann::ordered_json::array();
  for (const auto& [epoch_of_it, reason] : failed_evaluations) failed.push_back({{"epoch", epoch_of_it}, {"reason", reason}});
  nlohmann::ordered_json json = {{"format", kFormat},
                                 {"epoch", epoch},
                                 {"batch", batch},
                                 {"step", step},
                                 {"metrics_bytes", metrics.bytes},
                                 {"metrics_sha256", metrics.sha256},
                                 {"loss_sum", loss_sum},
                                 {"grad_norm_sum", grad_norm_sum},
                                 {"substituted", substituted},
                                 {"evidence", evidence.to_json()},
                                 {"estimates", estimates},
                                 {"best_value", optional_json(best_value)},
                                 {"best_epoch", best_epoch},
                                 {"failed_evaluations", failed},
                                 {"finished", finished},
                                 {"threads", threads},
                                 {"instruction_set", instruction_set}};
  if (ranks > 1) json["ranks"] = ranks;
  return json;
}

TrainingState TrainingState::from_json(const nlohmann::ordered_json& json) {
  TrainingState state;
  state.epoch = count_at(json, "epoch");
  state.batch = count_at(json, "batch");
  state.step = count_at(json, "step");
  state.metrics = {count_at(json, "metrics_bytes"), json.value("metrics_sha256", std::string())};
  state.loss_sum = number_at(json, "loss_sum");
  state.grad_norm_sum = number_at(json, "grad_norm_sum");
  if (json.contains("substituted")) state.substituted = count_at(json, "substituted");          // older files never replaced any
  if (json.contains("evidence")) state.evidence = Evidence::from_json(json.at("evidence"));     // older files have totals only
  if (json.contains("estimates")) state.estimates = estimates_from_json(json.at("estimates"));  // older files have none
  if (!json.at("best_value").is_null()) state.best_value = number_at(json, "best_value");
  state.best_epoch = count_at(json, "best_epoch");
  for (const auto& failed : json.value("failed_evaluations", nlohmann::ordered_json::array())) {
    state.failed_evaluations.push_back({count_at(failed, "epoch"), failed.at("reason").get<std::string>()});
  }
  state.finished = json.at("finished").get<bool>();
  state.threads = count_at(json, "threads");
  if (json.contains("ranks")) state.ranks = count_at(json, "ranks");
  state.instruction_set = json.at("instruction_set").get<std::string>();
  return state;
}

std::string instruction_set() { return at::get_cpu_capability(); }

void save_checkpoint(const std::string& path, const Model& model, const Optimizers& optimizers, const Method& method,
                     const TrainingState& state, const RunDescription& run) {
  std::vector<std::pair<std::string, torch::Tensor>> named = model.state();
  for (auto& entry : optimizers.state()) named.push_back(std::move(entry));
  for (auto& entry : method.state()) named.push_back(std::move(entry));
  std::vector<TensorBytes> tensors;
  for (auto& [name, tensor] : named) {
    tensor = tensor.detach().cpu().contiguous();
    tensors.push_back(bytes_of(name, tensor));
  }
  write_safetensors(path, tensors,
                    {{"format", "pt"},
                     {kStateKey, json_text(state.to_json())},
                     {kRecipeKey, run.recipe_yaml},
                     {kNamesKey, json_text(to_json(run.names))},
                     {kDataKey, json_text(to_json(run.data))}});
}

void save_generation(const std::string& folder, const Model& model, const Optimizers& optimizers, const Method& method,
                     const TrainingState& state, const RunDescription& run) {
  const std::string last = folder + "/last.safetensors", next = folder + "/next.safetensors";
  save_checkpoint(next, model, optimizers, method, state, run);
  if (std::filesystem::exists(last)) rename_durably(last, folder + "/previous.safetensors");
  rename_durably(next, last);
}

OpenCheckpoint open_checkpoint(const std::string& path) {
  OpenCheckpoint checkpoint{SafetensorsFile::open(path), {}, "", {}, {}};
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
      throw data_error("format {} was expected, found {}; use the version that wrote it", kFormat, json.at("format").dump());
    }
    checkpoint.state = TrainingState::from_json(json);
    if (const auto names = metadata.find(kNamesKey); names != metadata.end()) {
      checkpoint.names = names_from_json(nlohmann::ordered_json::parse(names->second));
    }
    if (const auto data = metadata.find(kDataKey); data != metadata.end()) {
      checkpoint.data = data_record_from_json(nlohmann::ordered_json::parse(data->second));
    }
  } catch (const nlohmann::json::exception& error) {
    throw data_error("opening checkpoint '{}': its training state cannot be read ({})", path, error.what());
  } catch (const Error& error) {
    throw data_error("opening checkpoint '{}': {}", path, error.what());
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

void restore(const OpenCheckpoint& checkpoint, const Model& model, const Optimizers& optimizers, Method& method) {
  load_state(*model.encoder, checkpoint.file, "encoder.");
  load_state(*model.head, checkpoint.file, "head.");
  if (model.predictor != nullptr) load_state(*model.predictor, checkpoint.file, "predictor.");
  if (model.classifier != nullptr) load_state(*model.classifier->linear(), checkpoint.file, "classifier.");
  optimizers.load(checkpoint.file);
  method.load(checkpoint.file);
}

}  // namespace debias
