// What a run's config.yaml says, as a report uses it. The file may be of another version or edited by hand: what is not there, or not of
// the expected shape, is absent.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/recipe_keys.h"
#include "debias/results/json_file.h"

namespace debias {

// An entry of `expected`: a number that is published of a metric.
struct Published {
  double value = 0;                   // NaN: the entry has none
  std::optional<double> spread = {};  // standard deviation over the source's runs
  std::string source = {};
  std::optional<double> minutes = {};  // of training
  int64_t epoch = 0;                   // that it is of; 0: of the end of training
  std::optional<int64_t> runs = {};    // that it is the mean of
  std::string metric = {};
  std::optional<double> tolerance = {};  // within which another number agrees
};

// Entries of a list `expected`, of a recipe or of a sweep's file; none where it is no list.
std::vector<Published> read_published(const Config& expected);

// A section of `data`. Texts are as they are written, "" where there is none.
struct DataFacts {
  std::string name, seed, correlation;
  double hold_out = 0;                         // samples: their number or share
  std::map<std::string, std::string> options;  // all, by their flattened keys
  Json section;                                // all, as JSON; null where the recipe has no such section

  bool follows_seed() const { return seed == kSeedOfRun; }
};

struct RecipeFacts {
  std::string name;
  std::string seed;                       // "1", or "" where the recipe has none
  Json seed_json;                         // likewise, or null
  int64_t epochs = 0;                     // to train for; 0: it does not say
  std::string batch_size;                 // as it is written
  double control_steps = 0;               // of an agent's epoch; 0 for other runs
  std::vector<std::string> objectives;    // names of its terms, without those of weight 0
  Json objective;                         // the whole section; null where there is none
  std::string encoder;                    // its name
  bool has_classifier = false;            // a section `classifier`
  bool is_fixed = false;                  // a section `fix`
  bool of_agent = false;                  // a section `environment`
  std::string task;                       // of the environment
  std::map<std::string, DataFacts> data;  // by split
  std::vector<std::string> protocols;     // of `evaluate`
  std::string groups_predictions = "auto";
  std::string select;  // metric of held-out images that chooses the epoch; "" where none does
  std::vector<Published> expected;
  Config expected_section;  // the whole list; null where nothing is expected

  const DataFacts& data_of(const std::string& split) const;  // without anything where there is no such section
  bool has_protocol(const std::string& protocol) const;
};

RecipeFacts read_recipe_facts(const Config& recipe);

}  // namespace debias
