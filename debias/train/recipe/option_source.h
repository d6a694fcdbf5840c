// Options whose value is estimated while training: {from: prior, every: 5, start: 0.1}.
//
//   source      option                 objectives                            estimated from
//   prior       tau_plus, [0, 0.99]    every objective that has it           labels of the training set, or else two views of its images
//   marks       tau_plus, [0, 0.99]    every objective that has it           a person's marks of random pairs (marked_prior.h), once
//   macro_auc   alpha, [0.5, 1]        bayesian                              cosines of labelled training images under the encoder
//   augment     alpha, [0.5, 1]        bayesian                              cosines of two training views, without labels
//
// After epochs every, 2 every, ... an observer of the run measures the source's metric, which is the current value from the start of the
// next epoch. Before the first estimate the value is `start`, by default that of the option. If only an upper bound is known (`prior`
// without labels), the smaller of it and `start` applies: a bound can lower a guess but not raise it, and that of an untrained encoder is
// 1. An estimate outside the range is clamped to it. If an estimate cannot be made, the current value is unchanged. Current values are part
// of the training state.
//
// {from: marks, file: answers.csv} is read with the recipe and is the value from the start. The resolved recipe stores it with its 95 %
// interval, {from: marks, file, value, low, high}, and no longer needs the file.
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
  std::string option;                   // the option that it estimates
  std::vector<std::string> objectives;  // objectives with this source; empty: all that have the option
  double low = 0, high = 1;             // range of the option
  SourceMeasure measure = SourceMeasure::kPrior;

  std::string metric() const { return "estimate." + name; }     // name of the estimate among an observer's metrics
  std::string bound_metric() const { return "bound." + name; }  // name of an upper bound
};

const std::vector<OptionSource>& option_source_registry();

// A number of a term that changes over the epochs: its weight, or an option of its objective.
struct TermNumber {
  std::string name;              // "weight", "alpha"
  std::optional<size_t> option;  // index in ObjectiveEntry::options; none: the weight
  std::string where;             // "recipe.yaml:12" or empty, for messages
};

// `option` is an option of the objective, "weight", or an unknown option, which reading the term's options rejects. Usage error for an
// option that is not a number.
TermNumber term_number(const std::string& option, const ObjectiveEntry& entry, const std::string& where);

// A person's marks, read with the recipe: the file, and the 95 % interval of the estimated prior.
struct MarksRead {
  std::string file;
  double low = 0, high = 1;
};

struct SourcedOption {
  TermNumber number;
  const OptionSource* source = nullptr;
  int64_t every = 1;
  double start = 0;
  std::optional<MarksRead> marks{};  // for the source marks; `start` is then their estimate, for the whole run

  bool due_after(int64_t finished_epochs) const { return !marks && finished_epochs % every == 0; }
  Config config() const;  // all options; reading it gives the same
};

// True if the value of an option is a source, not a schedule.
bool is_option_source(const Config& value);

// Reads `option` of the objective's term `term`, whose value is a source. Usage errors, naming file and line: an unknown source or key, a
// source of another option or objective.
SourcedOption read_option_source(const std::string& option, const ObjectiveEntry& entry, const Config& term);

}  // namespace debias
