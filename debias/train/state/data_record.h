// Record of a run's data sets: fingerprints in each checkpoint, and beside them the listings (RUN/data/SPLIT.listing.gz) by which
// differences are named image by image, and data/sets.json (debias/results/run_files.h), by which runs are compared.
#pragma once

#include <nlohmann/json.hpp>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "debias/core/progress.h"
#include "debias/data/fingerprint.h"

namespace debias {

enum class DataChange { kRefuse, kAccept };

struct DataRecord {
  std::map<std::string, DataFingerprint> sets;  // "train", "valid", "test": those that are read
  std::vector<std::string> accepted;            // changes that a user took, one line each
};

nlohmann::ordered_json to_json(const DataRecord& record);
DataRecord data_record_from_json(const nlohmann::ordered_json& json);  // a data error where it is not what to_json writes

void write_listings(const DataRecord& record, const std::string& run_folder);

// Compares the sets that both know, except for those in `replaced`, which the user asked to be others. kRefuse: a data error that names the
// first three differences. kAccept: says them to `log`. Returns what was accepted. `what` begins the lines: "resuming 'runs/first'".
std::vector<std::string> compare_data(const DataRecord& then, const DataRecord& now, const std::string& run_folder,
                                      const std::set<std::string>& replaced, DataChange change, const std::string& what, Log& log);

}  // namespace debias
