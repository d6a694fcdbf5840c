// Preprocessing that another program applies to an image before an exported encoder.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "debias/runs/loaded_run.h"

namespace debias {

struct Preprocess {
  // size     [height, width] of evaluated images, a centre crop after `resize`; null: images keep their size
  // resize   antialiased bilinear: a number for the short side, [height, width], or null
  // mean, std   per channel, of values in [0, 1]
  // classes  names by number; absent if unknown
  // steps    all views of evaluation in order, as in a recipe, if the keys above cannot describe them
  nlohmann::ordered_json json;
  std::vector<std::string> remarks;  // one line each: what is unknown
};

// From the run's views of evaluation and its classes.json. If these lack the size or the names, the training set is opened if it exists.
Preprocess preprocess(const LoadedRun& run);

}  // namespace debias
