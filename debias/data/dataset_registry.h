// The data sets by name, as a recipe's `data` section requests them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/options.h"
#include "debias/data/dataset.h"
#include "debias/data/sample_kind.h"  // IWYU pragma: export

namespace debias {

struct DatasetEntry {
  std::string name;
  std::vector<std::string> aliases;
  std::string summary;
  std::vector<OptionSpec> options;
  std::function<std::unique_ptr<SampleTable>(const Config& section)> make;
  SampleKind samples = SampleKind::kImages;  // images: make() gives a Dataset
  bool numbers_biases_as_classes = false;    // bias label c is aligned with class c, and every image has one
};

const std::vector<DatasetEntry>& dataset_registry();

const DatasetEntry* find_dataset(std::string_view name);  // by its registry name; null where there is none

std::unique_ptr<SampleTable> make_samples(const Config& section);  // of any kind

// The images that a recipe's `data.train` (or valid, test) requests: {name: mnist, root: ..., split: train, hold_out: 5000, ...}.
// `hold_out: N` and `split: held_out` work for every labelled set with a train split (see hold_out.h).
// A usage error where samples are not images.
std::unique_ptr<const Dataset> make_dataset(const Config& section);

}  // namespace debias
