// Choices of a recipe from the training registries, with their options: read and checked once, and never changed.
#pragma once

#include <any>
#include <functional>
#include <memory>
#include <string>

#include "debias/core/config.h"

namespace debias {

class Sampler;
class SampleTable;
struct MethodEntry;

struct ChosenMethod {
  std::shared_ptr<const MethodEntry> entry = {};
  std::any options = {};     // of the entry's own type
  Config bias_encoder = {};  // the section of a biased network's encoder; null where the recipe has none
  std::string where = {};    // "recipe.yaml:12: " or empty, for messages
  bool is_written = true;    // false: the recipe names none

  template <class Options>
  const Options& as() const {
    return std::any_cast<const Options&>(options);
  }
  Config section() const;  // every option written out, with `name`; reads as the same
};
ChosenMethod read_method(const Config& section);  // of none: simclr

// Draws the visits of an epoch.
enum class Draws {
  kOnceEach,     // every sample
  kIndependent,  // with replacement
  kRounds        // of one sample of each group
};

struct ChosenSampler {
  Config section;  // every option written out, with `name`; reads as the same
  Draws draws = Draws::kOnceEach;
  bool by_group = false;  // of class and bias label
  // Usage errors: samples without labels, or, by group, without bias labels; data errors: some with an unknown label or bias label.
  std::function<std::shared_ptr<const Sampler>(const SampleTable& samples)> make;
};
ChosenSampler read_sampler(const Config& section);  // of none: shuffled

}  // namespace debias
