// Start of a resumed run if only rank 0 sees the run's folder.
#pragma once

#include <string>

#include "debias/ranks/ranks.h"
#include "debias/train/state/checkpoint.h"

namespace debias {

// The checkpoint that rank 0 has at `path`, on every other rank: its bytes cross, into memory. To be called by all of them.
void give_checkpoint(const std::string& path, const Ranks& ranks);
OpenCheckpoint take_checkpoint(const Ranks& ranks);

// Rejects ranks that would not train the same: of another version, recipe (except for keys that change nothing) or training images.
void require_same_training(const Config& recipe, const DataRecord& data, const Ranks& ranks);

// Checks that all ranks have the same parameters; a failure names the rank. `when`: "at the start".
void require_same_weights(const NamedTensors& weights, const std::string& when, const Ranks& ranks);

}  // namespace debias
