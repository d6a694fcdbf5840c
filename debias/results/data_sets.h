// RUN/data/sets.json: the fingerprints of a run's data sets by split, as a checkpoint has them except for the files' times, so that two
// runs can be asked whether they saw the same images. Runs of older versions have none.
#pragma once

#include <string>

#include "debias/results/json_file.h"

namespace debias {

inline constexpr const char* kDataSetsFile = "data/sets.json";
inline constexpr const char* kAcceptedChanges = "accepted";  // beside the splits: lines on changes that a user took (--accept-data-change)

// An empty object if there is no file; a data error if it is damaged.
Json read_data_sets(const std::string& run_folder);

enum class DataLikeness { kAlike, kDifferent, kUndetermined };

// Compares a split in two such files: classes and bias labels by name, the options that change the images (those that both know), and each
// image's id, label, bias, size or pixels, and path below the root; bytes if both know them (data.verify: contents), and for sentences
// the vocabulary.
DataLikeness compare_data_sets(const Json& a, const Json& b, const std::string& split);

}  // namespace debias
