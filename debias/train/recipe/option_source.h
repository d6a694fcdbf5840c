// Options whose value is estimated while training: {from: prior, every: 5, start: 0.1}.
//
//   source      gives                  of                                    estimated by
//   prior       tau_plus, [0, 0.99]    every objective that has it           the labels of the training set, else two views of its images
//   marks       tau_plus, [0, 0.99]    every objective that has it           a person's marks of random pairs (marked_prior.h), once
//   macro_auc   alpha, [0.5, 1]        bayesian                              cosines of labelled training images under the encoder
//   augment     alpha, [0.5, 1]        bayesian                              cosines of two training views, without labels
//
// After every `every`-th epoch (from the first: after epochs every, 2 every, ...) an observer of the run measures the source's metric, and
// from the next epoch's start on that is the current value; before the first estimate `start` is, which is the option's default where it
// is not given. If only an upper bound is known (`prior` without labels), the smaller of it and `start` applies: a bound lowers a
// guess and never raises it, and that of an encoder that knows nothing yet is 1. An estimate outside of the range is clamped to it. One
// that cannot be made leaves the current value as it is. Current values are part of the training state.
//
// {from: marks, file: answers.csv} is read with the recipe and is the value from the start; the resolved recipe holds it with its 95 %
// interval, {from: marks, file, value, low, high}, and is then read without the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "debias/core/config.h"
#include "debias/losses/objective.h"

namespace debias {

enum class SourceMeasure { kPrior, kMarks, kMacroAuc, kViewAuc };

struct OptionSource {
  std::string name;
  std::vector<std::string> aliases;
  std::string option;                   // what it gives
  std::vector<std::string> objectives;  // of which; empty: of all that have the option
  double low = 0, high = 1;             // what the option may be
  SourceMeasure measure = SourceMeasure::kPrior;

  std::string metric() const { return "estimate." + name; }     // what an observer calls it
  std::string bound_metric() const { return "bound." + name; }  // where it knows an upper bound and no more
};

const std::vector<OptionSource>& option_source_registry();

// A number of a term that changes over the epochs: its weight, or an option of its objective.
struct TermNumber {
  std::string name;              // "weight", "alpha"
  std::optional<size_t> option;  // its place in ObjectiveEntry::options; none: the weight
  std::string where;             // "recipe.yaml:12" or empty, for messages
};

// `option` of an objective, "weight", or an option that is not known, which reading the term's options rejects. Usage error: one that takes
// no number.
TermNumber term_number(const std::string& option, const ObjectiveEntry& entry, const std::string& where);

// A person's marks, read with the recipe: the file, and the 95 % interval of what they estimate.
struct MarksRead {
  std::string file;
  double low = 0, high = 1;
};

struct SourcedOption {
  TermNumber number;
  const OptionSource* source = nullptr;
  int64_t every = 1;
  double start = 0;
  std::optional<MarksRead> marks{};  // of the source marks: `start` is their estimate, for the whole run

  bool due_after(int64_t finished_epochs) const { return !marks && finished_epochs % every == 0; }
  Config config() const;  // every option written out; reads as the same
};

// True if an option's value is a source and not a schedule.
bool is_option_source(const Config& value);

// `option` of an objective whose term is `term`, with such a value. Usage errors, naming file and line: an unknown source or key, a source
// of another option or objective.
SourcedOption read_option_source(const std::string& option, const ObjectiveEntry& entry, const Config& term);

}  // namespace debias
