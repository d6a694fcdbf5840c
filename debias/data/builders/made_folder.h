// Data sets built once and kept as PNG files: written by `debias data make`, read back by the reader of the same name.
//
//   about.json                                   what was made: name, options, image shape, names of classes and biases
//   align|conflict/<class>/<id>_<target>_<bias>.png   train; id is the index in the source
//   valid/<class>/..., test/<class>/...
//
// The layout is that of named_images.h, so that programs written for Lee et al.'s data sets read it too; <class> is the target's number.
// Several shares of conflicting images go into one folder as in their archive: about.json, train and valid below a folder of each share,
// and one test/ beside these.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "debias/core/progress.h"
#include "debias/data/dataset.h"
#include "debias/data/readers/named_images.h"

namespace debias {

struct MadeParts {
  std::shared_ptr<const Dataset> train, test;
  std::shared_ptr<const Dataset> valid;  // may be null: then no folder valid/
};

struct MadeCounts {
  struct Part {
    std::string split;
    int64_t aligned = 0, conflicting = 0;
  };
  std::vector<Part> parts;
  std::vector<std::string> remarks;  // what a user should know of how it was made
};

// `out` must not exist (usage error); it appears when all of it is written, and not otherwise. Every image needs a label and a bias.
// `options` goes into about.json.
MadeCounts write_made_folder(const std::string& out, const MadeParts& parts, const nlohmann::ordered_json& options,
                             Progress& progress = Progress::silent());

struct MadeShare {
  std::string folder;  // "5pct"
  MadeParts parts;
  nlohmann::ordered_json options;
};
// The same of several shares; the test images are those of the first.
MadeCounts write_made_shares(const std::string& out, const std::vector<MadeShare>& shares, Progress& progress = Progress::silent());

// True if `root` is such a folder: about.json, align/ or conflict/.
bool is_made_folder(const std::string& root);

// Reads the image facts of about.json in the folder `root`, if it has one; data errors as of read_made_folder().
void apply_about(const std::string& root, DatasetInfo& info);

// One split of it. `info` gives the name and the defaults of about.json; a data error if that file is damaged or
// describes another data set.
std::unique_ptr<Dataset> read_made_folder(DatasetInfo info, const std::string& root, FolderSplit split, const HoldOutOptions& hold_out);

}  // namespace debias
