// Keys of a recipe: its leaves, the kind of training that they say, those that training depends on, and the seeds of its data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "debias/core/config.h"

namespace debias {

// A recipe's leaves by their keys.

// "objective.0.temperature" -> "0.5", in the order written; the plain values of a list are one leaf, "[a, b]".
// An empty map is none, but in a list it is "{}": `steps: [{rgb_to_lab: {}}]` says what is done, and when.
std::vector<std::pair<std::string, std::string>> flattened(const Config& config);

// Kind of training that a recipe is for, recognised by its contents, so that a program without agents can name it.

// True if a recipe is of an agent (debias rl train) and not of an encoder (debias train): it has an `environment`.
bool is_agent_recipe(const Config& root);

// Keys of a recipe that training depends on: a run does not resume when they have changed.

// False of names, places (what the data are, fingerprints say), how the work is shared out, and of what is evaluated. `key` is a leaf's:
// "train.workers", "data.test.root".
bool changes_training(std::string_view key);

// True if `key` is `section` or is in it: "data.test" and "data.test.root".
bool is_of_section(std::string_view key, std::string_view section);

// `data.*.seed: run`: randomness of a data set (colours, which images conflict, which are held out) is drawn anew with every seed of the
// run, as in code that seeds before it builds its data. A number draws it once for all runs.
inline constexpr std::string_view kSeedOfRun = "run";

// True if a section of `data:` has `seed: run`.
bool follows_run_seed(const Config& section);

// `section` with the run's seed in the place of `seed: run`; any other as it is. `what` names the section in errors: "data.train".
// Throws a usage error if `seed` is neither `run` nor an integer.
Config with_run_seed(Config section, uint64_t run_seed, const std::string& what);

}  // namespace debias
