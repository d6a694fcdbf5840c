// The data sets by name, as a recipe's `data` section requests them.
#pragma once

#include <any>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/options.h"
#include "debias/data/chosen.h"  // IWYU pragma: export
#include "debias/data/dataset.h"
#include "debias/data/sample_table.h"  // IWYU pragma: export

namespace debias {

struct DatasetEntry {
  std::string name;
  std::vector<std::string> aliases;
  std::string summary;
  std::vector<OptionSpec> options;
  std::function<ChosenData(const DatasetEntry& self, const Config& section)> read;
  std::function<std::unique_ptr<SampleTable>(const std::any& options)> make;  // of ChosenData::options
  SampleKind samples = SampleKind::kImages;                                   // images: make() gives a Dataset
  bool numbers_biases_as_classes = false;  // bias label c is aligned with class c, and every image has one
  bool is_any_folder = false;              // other roots hold other images; else the data are the same in any folder
};

const std::vector<DatasetEntry>& dataset_registry();

const DatasetEntry* find_dataset(std::string_view name);                // by its registry name; null where there is none
bool data_set_is(std::string_view name, bool DatasetEntry::*property);  // false where there is none

}  // namespace debias
