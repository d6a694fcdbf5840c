// Samples that an epoch visits, and how often: a recipe's section `sampler`.
//
//   shuffled   each sample once, in a fresh order every epoch; without a section
//   weighted   as many draws as there are samples, with replacement, in proportion to
//                by group   w = min(1 / P(b|y), K min 1 / P(b|y)) of class y and bias label b, P(b|y) = n_yb / n_y, K =
//                oversample_conflicting by class   w = 1 / n_y
//   balanced   as many draws, in rounds that have one sample of each group that has any (BalancedSampler), by (class, bias label) or by
//   class
//
// The first, with K = 10, is how Hong and Yang 2021 sample the batches of BiasCon: within a class every bias label would be drawn equally
// often, but no image more than ten times as often as the commonest.
//
// Counts that depend on the draws and not on the data set: tau_plus, P(y|b) of bias_balanced.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "debias/data/sample_table.h"
#include "debias/data/sampler.h"
#include "debias/train/recipe/recipe.h"

namespace debias {

struct SamplerEntry {
  std::string name;
  std::vector<std::string> aliases;
  std::string summary;
  std::vector<OptionSpec> options;
  std::function<ChosenSampler(const Config& section)> read;
};
const std::vector<SamplerEntry>& sampler_registry();

std::shared_ptr<const Sampler> make_sampler(const Recipe& recipe, const SampleTable& samples);

struct DrawnGroup {
  std::string name;  // "cat, red", or "cat"
  int64_t samples = 0;
  double share = 0;  // of all draws
  double times = 0;  // that an epoch draws each of its samples, on average
};

// By class and bias label, where there are any, with none left out that has samples; none where the recipe has no `sampler`.
std::vector<DrawnGroup> drawn_groups(const Recipe& recipe, const SampleTable& samples);

// A line where the sampler draws by group and classes lack some of the bias labels that others have: nothing can be drawn of those.
std::vector<std::string> undrawn_groups(const Recipe& recipe, const SampleTable& samples);

// Source of an anchor's negatives: rows of its batch, rows of batches before, or samples drawn uniformly from all.
enum class Negatives { kBatch, kEarlierBatches, kAllSamples };

// The chance that a negative is of its anchor's class, as the sampler draws anchors and negatives: what tau_plus is. With q_y the share of
// class y in the draws, p_y in the data: sum q_y^2 where both are drawn independently, sum q_y p_y of kAllSamples. Batches of `balanced`
// are not independent draws: of kBatch it is the share of pairs of one class among all pairs of two visits of a batch, counted on
// so many epochs that 2^16 visits are.
double drawn_class_prior(const Recipe& recipe, const SampleTable& samples, Negatives negatives);

}  // namespace debias
