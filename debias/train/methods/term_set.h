// The terms of a run's objective together: schedules, estimates and names, over all of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "debias/train/methods/diagnostics.h"
#include "debias/train/methods/term.h"

namespace debias {

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

}  // namespace debias
