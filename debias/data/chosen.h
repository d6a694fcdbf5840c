// A data set as a recipe chooses it: its options are read and checked, and what is left is to open it.
#pragma once

#include <any>
#include <memory>
#include <string>
#include <vector>

#include "debias/core/config.h"

namespace debias {

class Dataset;
class SampleTable;
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

}  // namespace debias
