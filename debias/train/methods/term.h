// The terms of a run's objective: what each computes, on what it reads, and its current options at an epoch.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "debias/data/dataset.h"
#include "debias/data/sample_table.h"
#include "debias/losses/objective.h"
#include "debias/train/methods/diagnostics.h"
#include "debias/train/recipe/recipe.h"

namespace debias {

class Term {
 public:
  // takes_links: groups of linked samples (MethodParts::linked) are its classes.
  Term(TermRecipe recipe, std::string label, const DatasetInfo& info, bool takes_links = false);

  // Takes the values that the schedules have at this epoch (from 0), and the estimates held, into force.
  void begin_epoch(int64_t epoch);

  const std::string& label() const { return label_; }  // the objective's name, "_2" appended at its second use; prefix of its metrics
  bool on_logits_as_they_are() const { return recipe_.entry->kind == InputKind::kLogits; }  // else L2-normalised rows [B, V, D]
  InputKind kind() const { return recipe_.entry->kind; }
  bool takes_keys() const { return recipe_.entry->takes_keys; }
  bool takes_norms() const { return recipe_.entry->takes_norms; }
  TermInput on() const { return in_force_.own.on; }
  double weight() const { return in_force_.own.weight; }
  const Objective& objective() const { return *objective_; }
  const ObjectiveOptions& options() const { return *in_force_.objective; }
  // Option or "weight": current value, of those that have a schedule or a source.
  const std::vector<std::pair<std::string, double>>& scheduled() const { return scheduled_; }
  bool has_labels() const { return has_labels_; }  // of the data set
  bool has_bias() const { return has_bias_; }
  bool takes_links() const { return takes_links_; }
  bool compares_classes() const { return recipe_.entry->needs_labels || recipe_.entry->joins_positives; }
  const at::Tensor& bias_features() const { return bias_features_; }  // [N, F], row = sample id; undefined where not used
  std::string caution() const { return options().caution(); }         // ObjectiveOptions::caution; empty: none
  const at::Tensor& prior() const { return prior_; }                  // [C, G] P(label | bias); undefined where not used

  // For the options with a source that are due after so many finished epochs, takes the metric of that name, to apply from the next
  // begin_epoch(). Returns a line for each that was clamped, or has no finite estimate.
  std::vector<std::string> take_estimates(int64_t finished_epochs, const Metrics& metrics);
  const std::map<std::string, double>& estimates() const { return estimates_; }  // by option, once there is one
  void restore_estimates(std::map<std::string, double> estimates) { estimates_ = std::move(estimates); }

  // Reads the bias features and counts the prior, where the term uses them, and tries the objective on a few rows with so many views, so
  // that what it cannot take is rejected before a run begins. keyed: the method gives keys; weights: of Sampler::weights(), for the prior.
  // Data errors as of read_bias_features, usage errors of the objective.
  void load(const SampleTable& dataset, int64_t views, bool keyed = false, const std::vector<double>& weights = {});

 private:
  void try_on_rows(int64_t views, bool keyed) const;

  TermRecipe recipe_;
  std::string label_;
  bool has_labels_, has_bias_, takes_links_;
  TermInForce in_force_;
  std::shared_ptr<const Objective> objective_;
  std::vector<std::pair<std::string, double>> scheduled_;
  std::map<std::string, double> estimates_;
  at::Tensor bias_features_, prior_;
};

// Usage errors: an objective that cannot use the recipe's views, or needs labels, bias labels or bias features that are not there (the data
// set is named).
void require_terms(const Recipe& recipe, const DatasetInfo& info);

// grouped_samples() that terms over pairs leave out of each other's negatives; empty where `data.groups` ignores them.
std::vector<int64_t> left_out_mates(const Recipe& recipe, const SampleTable& samples);

// "240 images are 60 groups (column burst): ...": what training makes of groups, and which terms cannot leave out group mates. Empty without
// groups, or without terms over pairs.
struct GroupNotes {
  int64_t groups = 0;  // of the samples, those without a mate included
  std::vector<std::string> notes;
  bool has_cautions = false;  // group mates are negatives of a term, although `data.groups` says otherwise
};
GroupNotes notes_on_groups(const Recipe& recipe, const SampleTable& samples);

// Builds terms that passed require_terms(). Those over pairs that can leave out some, and leave out none as the recipe has them, leave out
// group mates. No file is read.
std::vector<Term> make_terms(const Recipe& recipe, const SampleTable& dataset);

// The terms of a run's objective together: schedules, estimates and names, over all of them.
class TermSet {
 public:
  explicit TermSet(std::vector<Term> terms) : terms_(std::move(terms)) {}

  void begin_epoch(int64_t epoch);  // from 0: schedules and estimates

  // After an epoch's observers: the terms take the estimates that are due (Term::take_estimates).
  std::vector<std::string> take_estimates(int64_t finished_epochs, const Metrics& metrics);
  std::map<std::string, double> estimates() const;  // "bayesian.alpha": the last one taken; part of the training state
  void restore_estimates(const std::map<std::string, double>& estimates);

  std::vector<std::string> labels() const;
  std::vector<std::string> cautions() const;  // warnings on the options of terms, one line each, for the start of a log
  Metrics scheduled() const;                  // "bayesian.beta": the current value

  std::vector<Term>::const_iterator begin() const { return terms_.begin(); }
  std::vector<Term>::const_iterator end() const { return terms_.end(); }

 private:
  std::vector<Term> terms_;
};

// Bias information of objectives beyond the batch: features of a model that sees it, and its joint counts with the label.

// A .npy file of float32 or float64 [N, F], row = sample id (the index in the source, the same under splits and held-out parts), as a
// tensor. Data errors naming the file: another dtype or shape, no row for a sample of the data set, a row that is not finite.
at::Tensor read_bias_features(const std::string& path, const SampleTable& dataset);

// P(label | bias) as double [C, G], counted from the data set: column b is the distribution of labels among the samples of bias label b,
// zero where there are none. Samples of unknown label or bias are left out. weights: of each sample, as a sampler draws it; none: all
// alike.
at::Tensor label_given_bias(const SampleTable& dataset, const std::vector<double>& weights = {});

}  // namespace debias
