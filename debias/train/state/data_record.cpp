#include "debias/train/state/data_record.h"

#include <fmt/ranges.h>

#include <filesystem>

#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/results/run_files.h"
#include "debias/train/state/training_state.h"

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

}  // namespace debias
