#include "debias/train/state/training_state.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/core/printable.h"
#include "debias/results/run_files.h"
#include "debias/train/state_numbers.h"

namespace debias {
namespace {

std::string listing_path(const std::string& run_folder, const std::string& split) {
  return fmt::format("{}/data/{}.listing.gz", run_folder, split);
}

}  // namespace

nlohmann::ordered_json to_json(const DataRecord& record) {
  nlohmann::ordered_json sets = nlohmann::ordered_json::object();
  for (const auto& [split, fingerprint] : record.sets) sets[split] = to_json(fingerprint);
  return {{"sets", sets}, {"accepted", record.accepted}};
}

DataRecord data_record_from_json(const nlohmann::ordered_json& json) {
  DataRecord record;
  for (const auto& [split, fingerprint] : json.at("sets").items()) record.sets.emplace(split, fingerprint_from_json(fingerprint));
  record.accepted = json.at("accepted").get<std::vector<std::string>>();
  return record;
}

void write_listings(const DataRecord& record, const std::string& run_folder) {
  std::error_code failure;
  std::filesystem::create_directories(run_folder + "/data", failure);
  if (failure) throw resource_error("creating '{}/data': {}; check the run folder and the disk", run_folder, failure.message());
  nlohmann::ordered_json sets = nlohmann::ordered_json::object();
  for (const auto& [split, fingerprint] : record.sets) {
    write_listing(fingerprint, listing_path(run_folder, split));
    sets[split] = to_json(fingerprint);
    sets[split].erase("listing");  // has the files' times: a copy of the folder is the same data
  }
  if (!record.accepted.empty()) sets[kAcceptedChanges] = record.accepted;
  write_file_atomically(fmt::format("{}/{}", run_folder, kDataSetsFile), json_text(sets, 2) + "\n");
}

std::vector<std::string> compare_data(const DataRecord& then, const DataRecord& now, const std::string& run_folder,
                                      const std::set<std::string>& replaced, DataChange change, const std::string& what, Log& log) {
  std::vector<std::string> accepted;
  for (const auto& [split, is] : now.sets) {
    const auto found = then.sets.find(split);
    if (found == then.sets.end() || replaced.contains(split)) continue;
    DataFingerprint was = found->second;
    if (!run_folder.empty()) read_listing(was, listing_path(run_folder, split));
    const std::vector<std::string> different = differences(was, is);
    if (different.empty()) continue;
    if (change == DataChange::kRefuse) {
      throw data_error("{}: data.{} has changed: {}; restore it, or continue with --accept-data-change", what, split,
                       fmt::join(different, "; "));
    }
    accepted.push_back(fmt::format("data.{}: {}", split, fmt::join(different, "; ")));
    log.warn(fmt::format("{}: data.{} has changed, which is accepted: {}", what, split, fmt::join(different, "; ")));
  }
  return accepted;
}

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

StoredState stored_state(const Metadata& metadata) {
  const auto json = nlohmann::ordered_json::parse(metadata.at(kStateKey));
  if (json.at("format") != kFormat) {
    throw data_error("format {} was expected, found {}; use the version that wrote it", kFormat, json.at("format").dump());
  }
  StoredState stored{TrainingState::from_json(json), metadata.at(kRecipeKey), {}, {}};
  if (const auto names = metadata.find(kNamesKey); names != metadata.end()) {
    stored.names = names_from_json(nlohmann::ordered_json::parse(names->second));
  }
  if (const auto data = metadata.find(kDataKey); data != metadata.end()) {
    stored.data = data_record_from_json(nlohmann::ordered_json::parse(data->second));
  }
  return stored;
}

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
                                 {"diagnostics", diagnostics.to_json()},
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
  if (json.contains("substituted")) state.substituted = count_at(json, "substituted");                   // older files never replaced any
  if (json.contains("diagnostics")) state.diagnostics = Diagnostics::from_json(json.at("diagnostics"));  // older files have totals only
  if (json.contains("estimates")) state.estimates = estimates_from_json(json.at("estimates"));           // older files have none
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

Metadata stored_metadata(const TrainingState& state, const RunDescription& run) {
  return {{kStateKey, json_text(state.to_json())},
          {kRecipeKey, run.recipe.to_yaml()},
          {kNamesKey, json_text(to_json(run.names))},
          {kDataKey, json_text(to_json(run.data))}};
}

bool has_training_state(const Metadata& metadata) { return metadata.contains(kStateKey) && metadata.contains(kRecipeKey); }

StoredState read_stored_state(const Metadata& metadata) {
  try {
    return stored_state(metadata);
  } catch (const nlohmann::json::exception& error) {
    throw data_error("its training state cannot be read ({})", without_control_characters(error.what()));
  } catch (const Error& error) {  // which quote what they found
    throw data_error("{}", without_control_characters(error.what()));
  }
}

}  // namespace debias
