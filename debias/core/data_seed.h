// `data.*.seed: run`: randomness of a data set (colours, which images conflict, which are held out) is drawn anew with every seed of the
// run, as in code that seeds before it builds its data. A number draws it once for all runs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "debias/core/config.h"

namespace debias {

inline constexpr std::string_view kSeedOfRun = "run";

// True if a section of `data:` has `seed: run`.
bool follows_run_seed(const Config& section);

// `section` with the run's seed in the place of `seed: run`; any other as it is. `what` names the section in errors: "data.train".
// Throws a usage error if `seed` is neither `run` nor an integer.
Config with_run_seed(Config section, uint64_t run_seed, const std::string& what);

}  // namespace debias
