#include "debias/train/methods/term_set.h"

namespace debias {

void TermSet::begin_epoch(int64_t epoch) {
  for (auto& term : terms_) term.begin_epoch(epoch);
}

std::vector<std::string> TermSet::take_estimates(int64_t finished_epochs, const Metrics& metrics) {
  std::vector<std::string> notes;
  for (auto& term : terms_) {
    for (auto& note : term.take_estimates(finished_epochs, metrics)) notes.push_back(std::move(note));
  }
  return notes;
}

std::map<std::string, double> TermSet::estimates() const {
  std::map<std::string, double> all;
  for (const auto& term : terms_) {
    for (const auto& [option, value] : term.estimates()) all[term.label() + "." + option] = value;
  }
  return all;
}

void TermSet::restore_estimates(const std::map<std::string, double>& estimates) {
  for (auto& term : terms_) {
    std::map<std::string, double> own;
    const std::string prefix = term.label() + ".";
    for (const auto& [name, value] : estimates) {
      if (name.starts_with(prefix)) own[name.substr(prefix.size())] = value;
    }
    term.restore_estimates(std::move(own));
  }
}

std::vector<std::string> TermSet::labels() const {
  std::vector<std::string> labels;
  for (const auto& term : terms_) labels.push_back(term.label());
  return labels;
}

std::vector<std::string> TermSet::cautions() const {
  std::vector<std::string> lines;
  for (const auto& term : terms_) {
    if (const std::string caution = term.caution(); !caution.empty()) lines.push_back(term.label() + ": " + caution);
  }
  return lines;
}

Metrics TermSet::scheduled() const {
  Metrics values;
  for (const auto& term : terms_) {
    for (const auto& [option, value] : term.scheduled()) values.emplace_back(term.label() + "." + option, value);
  }
  return values;
}

}  // namespace debias
