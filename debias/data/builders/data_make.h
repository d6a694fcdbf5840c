// Which data sets can be built on disk, and from what: `debias data make NAME`.
#pragma once

#include <string>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/options.h"
#include "debias/core/progress.h"
#include "debias/data/builders/made_folder.h"

namespace debias {

struct DataMakeEntry {
  std::string name;
  std::vector<std::string> aliases;
  std::string summary;
  std::vector<OptionSpec> options;
  MadeCounts (*make)(const Config& section, const std::string& out, Progress& progress);
};

// biased_mnist (from MNIST's IDX files at `root`), corrupted_cifar10 (from CIFAR-10) and glyphs (drawn): `correlation` is that of train;
// test is made at 0.1, every bias equally often, and so is valid (the held-out images, where `hold_out` is not 0), except for
// corrupted_cifar10, whose valid is like train (corrupted_cifar10.h). garments_on_scenes: class folders, for image_folder
// (garments_on_scenes.h).
const std::vector<DataMakeEntry>& data_make_registry();

// {name: biased_mnist, root: ..., correlation: ...} built into the new folder `out`. Usage errors: another name or option, `split`,
// an `out` that exists or is inside `root`, `frost` or `scenes`.
MadeCounts make_data_folder(const Config& section, const std::string& out, Progress& progress = Progress::silent());

}  // namespace debias
