// The sections of a sweep file, each read and checked.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "debias/core/config.h"
#include "debias/sweep/sweep_keys.h"
#include "debias/sweep/sweep_plan.h"

namespace debias {

struct SweepVariant {
  std::string name;
  Config keys;
};

struct SweepAxis {
  std::string key;
  std::vector<Config> values;
};

// Points that an entry of `overrides` or `expected` matches.
struct SweepSelector {
  std::vector<std::string> variants;                    // empty: all
  std::vector<std::pair<std::string, std::string>> at;  // grid keys and values

  bool selects(const SweepPoint& point) const;
};

struct SweepParts {
  std::string metric, output;
  std::string published;  // the metric of an expectation that names none
  std::vector<std::string> seeds;
  std::vector<SweepVariant> variants;
  std::vector<SweepAxis> grid;
  std::vector<std::pair<SweepSelector, Config>> overrides;  // keys of a recipe
  std::vector<std::pair<SweepSelector, Config>> expected;   // an entry of a recipe's `expected`
  bool has_expected = false;                                // also where it is null or an empty list
  std::vector<VariantAxis> axes;

  // Published numbers of a point, a list; a usage error if two entries are of one metric and epoch.
  Config expected_of(const SweepPoint& point) const;
  // True if a point differs from the setting of the base, which the published numbers of the base are of.
  bool changes_base(const SweepPoint& point) const;
};

// Usage errors as of read_sweep(). `published`: the metric that the file names, where `root` has another from the command line.
SweepParts read_sweep_parts(const Config& root, const std::string& published = "");

// The parts of a sweep's file, with the metric of the record in its output where the file names none. Nothing where the file is no sweep
// or names no output. Usage errors as of read_sweep(), data errors as of read_sweep_record().
std::optional<SweepParts> read_sweep_file(const std::string& path);

// Usage errors: not a map, an unknown key, not a list of entries, and a variant that the sweep lacks; `what` names the section.
void require_known_keys(const Config& map, const std::vector<std::string>& known, const char* what);
std::vector<Config> sweep_entries(const Config* node, const char* what);
void require_variant(const std::string& name, const std::vector<std::string>& known, const Config& node, const std::string& what);

// `variant` and `at` of an entry of the section `what`.
SweepSelector read_selector(const Config& entry, const SweepParts& parts, const char* what);

// The text of a scalar; a usage error that begins with `what` for anything else.
std::string sweep_word(const Config& node, const std::string& what);

}  // namespace debias
