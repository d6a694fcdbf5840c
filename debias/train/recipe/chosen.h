// A recipe's choices from the training registries, with their options: read and checked once, then immutable.
#pragma once

#include <any>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "debias/core/config.h"
#include "debias/encoders/chosen.h"

namespace debias {

class Sampler;
class SampleTable;
struct MethodEntry;

struct ChosenMethod {
  std::shared_ptr<const MethodEntry> entry = {};
  std::any options = {};                           // of the entry's type
  std::optional<ChosenEncoder> bias_encoder = {};  // of a biased network; none: the recipe's
  std::string where = {};                          // "recipe.yaml:12: " or empty, for messages
  bool is_written = true;                          // false: the recipe names none

  template <class Options>
  const Options& as() const {
    return std::any_cast<const Options&>(options);
  }
  Config section() const;  // with `name` and all options; reading it gives the same choice
};
ChosenMethod read_method(const Config& section);  // null section: the first method

// Draws the visits of an epoch.
enum class Draws {
  kOnceEach,     // every sample
  kIndependent,  // with replacement
  kRounds        // rounds of one sample per group
};

struct ChosenSampler {
  Config section;  // with `name` and all options; reading it gives the same choice
  Draws draws = Draws::kOnceEach;
  bool by_group = false;  // by group of class and bias label
  // Usage error for samples without labels or, by group, without bias labels. Data error for an unknown label or bias label.
  std::function<std::shared_ptr<const Sampler>(const SampleTable& samples)> make;
};
ChosenSampler read_sampler(const Config& section);  // null section: the first sampler

}  // namespace debias
