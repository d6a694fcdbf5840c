// A sweep file read: one base recipe, and the runs that variants, a grid and seeds make of it.
//
//   base: recipes/mini/cross_entropy.yaml       # a path or name, or the recipe itself
//   variants: {ce: {}, end: {objective: [...]}}  # named sets of keys; left out: one without a name
//   grid: {optimizer.learning_rate: [1e-3, 3e-3]}
//   overrides: [{variant: end, at: {optimizer.learning_rate: 3e-3}, set: {train.epochs: 8}}]
//   seeds: [1, 2, 3]
//   metric: test.conflicting_acc
//   expected: [{variant: ce, over: optimizer.learning_rate, values: [0.90, 0.91], spreads: [0.01, 0.02], source: "..."}]
//   axes: [{over: M, variants: {one: 1, two: 2}}]
//   output: runs/sweeps/mini
//
// A key is what it is on the command line of `debias train`: `objective.0.tau_plus` sets one option, `objective` replaces the section. The
// base may be an agent's recipe: then it is what it is on that of `debias rl train`, such as `objective.tau_plus`.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/recipe_file.h"
#include "debias/sweep/sweep_keys.h"

namespace debias {

// Setting that the seeds of a sweep share.
struct SweepPoint {
  std::string variant;                                    // "" where the file names none
  std::vector<std::pair<std::string, std::string>> grid;  // key and value, in the file's order

  std::string folder() const;  // "end/optimizer.learning_rate=3e-3"; "" where there is one point
  // "end, learning_rate 3e-3": of each key as much of its end as no other key of the grid shares. `without`: a key that is left out.
  std::string label(const std::string& without = "") const;
  bool operator==(const SweepPoint&) const = default;
};

struct SweepRun {
  SweepPoint point;
  std::string seed;
  Config recipe;  // whole, with seed and output

  std::string name() const;               // below the output folder: "end/optimizer.learning_rate=3e-3/seed-1"
  std::vector<std::string> verb() const;  // of the program, that runs it: {"train"}, or {"rl", "train"} where the recipe is an agent's
};

struct SweepPlan {
  std::string file;
  std::string output;
  std::string metric;             // "" where the file names none
  std::vector<std::string> grid;  // its keys
  std::vector<std::string> seeds;
  std::vector<SweepPoint> points;  // variants, and within each the grid, its last key fastest
  std::vector<SweepRun> runs;      // points, and within each the seeds
  std::vector<VariantAxis> axes = {};
  std::string verb = "sweep";              // that was given, for messages
  std::string again = "the same command";  // which resumes it
};

// `words`: key=value of the command line, over all else; `output`, `seeds` and `metric` are the sweep's own. Usage errors name the file:
// unknown keys; a seed, value or expectation given twice; a variant or grid value that an override or expectation names and the sweep
// lacks; a word or override that would undo the grid, and a variant's key that the grid would undo; keys that the sweep sets itself.
// It does not check that the recipes can run. Expectations of the base recipe stay only if a point changes nothing of it, in a sweep
// that expects nothing itself.
SweepPlan read_sweep(const std::string& path, const std::vector<std::string>& words, const FindBase& find_base);

// One recipe with `count` seeds, from its own on (1 where it has none): a sweep of a single setting, whose run folders are OUTPUT/seed-N.
// `file`: where the recipe is from. Usage errors: no output, no whole seed, a count out of [1, 10000].
SweepPlan seeds_plan(const std::string& file, const Config& recipe, int64_t count);

}  // namespace debias
