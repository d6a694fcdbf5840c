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
#include "debias/data/dataset.h"
#include "debias/data/sample_table.h"  // IWYU pragma: export

namespace debias {

// A data set as a recipe chooses it: its options are read and checked, and what is left is to open it.

struct DatasetEntry;

struct ChosenData {
  const DatasetEntry* entry = nullptr;
  Config section = {};          // the options that are given, with `name`; reads as the same
  std::any options = {};        // all of them, of the entry's own type
  std::string root = {};        // the file or folder that it is read from; empty: samples are generated
  std::string label_file = {};  // of labels, or of the words' numbers; empty: none
  bool follows_seed = false;    // `seed: run` (recipe_keys.h): the section holds the run's seed as a number

  template <class Options>
  const Options* as() const {  // null where they are of another type
    return std::any_cast<Options>(&options);
  }
  Config resolved() const;                            // every option written out
  ChosenData with(const Config& changes) const;       // these options in place of its own; usage errors as of read_data
  ChosenData with_missing(const Config& more) const;  // those of these options that its section does not give

  std::unique_ptr<SampleTable> make() const;           // of any kind
  std::unique_ptr<const Dataset> make_images() const;  // a usage error where samples are not images
};

// {name: mnist, root: ..., split: train, hold_out: 5000, ...}. `hold_out: N` and `split: held_out` work for every labelled set with a train
// split (see hold_out.h).
ChosenData read_data(const Config& section);

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

// The folders that a data set is read from, by its section of a recipe.

// Nothing is written inside them (refuse_inside_data). For `sentences`, targets of links count, too: a run's vocabulary.txt would be read
// as a book. Empty for a section without a root, such as synthetic images.
std::vector<std::string> roots_of(const Config& section);

// The same of several, which often name the same folders: a corpus, in which links are looked for, is walked through once.
std::vector<std::string> roots_of(const std::vector<Config>& sections);

}  // namespace debias
