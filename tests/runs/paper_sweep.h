// What a row of the specification's table 5.4 says of a sweep in recipes/papers: how many runs, which settings, which published numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace debias::paper_numbers {

using Settings = std::map<std::string, nlohmann::json>;  // by key of the resolved recipe: "objective.0.tau_plus"

// The published numbers of one metric, by setting in the order of the sweep: its variants, and within each the grid, the last key fastest.
struct PublishedMetric {
  std::string metric;
  std::vector<double> values;        // 0: none
  std::vector<double> spreads = {};  // what is printed behind +-; 0: none; empty: none at all
  std::vector<double> minutes = {};
  int64_t epoch = 0;  // that all are of; 0: none is named
};

struct PaperSweep {
  std::string name;
  size_t runs = 0;
  Settings all = {};                          // of every run
  std::map<std::string, Settings> some = {};  // of runs whose names begin so, in the place of `all`; the longer beginning counts
  std::vector<PublishedMetric> published = {};
  std::vector<std::string> noted = {};  // published of methods that have no setting here, as the file's comments have it
};

inline Settings with(Settings base, const Settings& more) {
  for (const auto& [key, value] : more) base[key] = value;
  return base;
}

}  // namespace debias::paper_numbers
