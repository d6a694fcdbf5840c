// Preprocessing that another program applies to an image before an exported encoder.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "debias/runs/loaded_run.h"

namespace debias {

struct Preprocess {
  // size     [height, width] that the encoder was evaluated on, cut out of the middle after `resize`; null: images keep their own
  // resize   antialiased bilinear: a number for the short side, [height, width], or null
  // mean, std   per channel, of values in [0, 1]
  // classes  names by number; absent where they are not known
  // steps    all of the views of evaluation in order, as a recipe writes them: for views that the keys above cannot say
  nlohmann::ordered_json json;
  std::vector<std::string> remarks;  // one line each: what could not be found out
};

// From the run's views of evaluation and its classes.json; the training set is opened where these do not say size or names, and need not
// be there.
Preprocess preprocess(const LoadedRun& run);

}  // namespace debias
