#include "debias/train/evidence.h"

#include <algorithm>
#include <cmath>

#include "debias/core/error.h"
#include "debias/train/state_numbers.h"

namespace debias {
namespace {

double ratio(double part, int64_t of) { return of > 0 ? part / static_cast<double>(of) : 0.0; }

// A count of part of what another one counts.
int64_t share_at(const nlohmann::ordered_json& json, const char* key, int64_t of) {
  const int64_t value = count_at(json, key);
  if (value > of) throw data_error("its training state has {} {} of {}", key, value, of);
  return value;
}

}  // namespace

void TermEvidence::add(const TermEvidence& more) {
  steps += more.steps;
  loss_sum += more.loss_sum;
  anchors += more.anchors;
  clamped += more.clamped;
  clampable += more.clampable;
  if (more.min_estimate) min_estimate = std::min(min_estimate.value_or(INFINITY), *more.min_estimate);
  sample_size_steps += more.sample_size_steps;
  sample_size_sum += more.sample_size_sum;
}

void ClassifierEvidence::add(const ClassifierEvidence& more) {
  rows += more.rows;
  correct += more.correct;
  loss_steps += more.loss_steps;
  loss_sum += more.loss_sum;
}

void Evidence::add(const Evidence& more) {
  terms.resize(more.terms.size());
  for (size_t i = 0; i < terms.size(); ++i) terms[i].add(more.terms[i]);
  classifier.add(more.classifier);
  labelled_negatives += more.labelled_negatives;
  false_negatives += more.false_negatives;
  neighbour_pairs += more.neighbour_pairs;
  next_hits += more.next_hits;
  previous_hits += more.previous_hits;
}

std::string term_prefix(const std::vector<std::string>& labels, size_t term) { return labels.size() < 2 ? "" : labels[term] + "."; }

Metrics Evidence::metrics(const std::vector<std::string>& labels) const {
  Metrics metrics;
  for (size_t i = 0; i < terms.size(); ++i) {
    const TermEvidence& term = terms[i];
    const std::string prefix = term_prefix(labels, i);
    if (terms.size() > 1) metrics.emplace_back(prefix + "loss", ratio(term.loss_sum, term.steps));
    metrics.emplace_back(prefix + "clamped_share", ratio(static_cast<double>(term.clamped), term.clampable));
    if (term.min_estimate) metrics.emplace_back(prefix + "min_estimate", *term.min_estimate);
    if (term.sample_size_steps > 0) {
      metrics.emplace_back(prefix + "effective_sample_size", ratio(term.sample_size_sum, term.sample_size_steps));
    }
  }
  if (classifier.rows > 0) metrics.emplace_back("acc1", ratio(static_cast<double>(classifier.correct), classifier.rows));
  if (classifier.loss_steps > 0) metrics.emplace_back("classifier_loss", ratio(classifier.loss_sum, classifier.loss_steps));
  if (labelled_negatives > 0) {
    metrics.emplace_back("false_negative_share", ratio(static_cast<double>(false_negatives), labelled_negatives));
  }
  if (neighbour_pairs > 0) {
    metrics.emplace_back("next_acc", ratio(static_cast<double>(next_hits), neighbour_pairs));
    metrics.emplace_back("previous_acc", ratio(static_cast<double>(previous_hits), neighbour_pairs));
  }
  return metrics;
}

nlohmann::ordered_json Evidence::to_json() const {
  auto list = nlohmann::ordered_json::array();
  for (const auto& term : terms) {
    list.push_back({{"steps", term.steps},
                    {"loss_sum", term.loss_sum},
                    {"anchors", term.anchors},
                    {"clamped", term.clamped},
                    {"clampable", term.clampable},
                    {"min_estimate", term.min_estimate ? nlohmann::ordered_json(*term.min_estimate) : nlohmann::ordered_json(nullptr)},
                    {"sample_size_steps", term.sample_size_steps},
                    {"sample_size_sum", term.sample_size_sum}});
  }
  nlohmann::ordered_json json = {{"terms", std::move(list)},
                                 {"classifier",
                                  {{"rows", classifier.rows},
                                   {"correct", classifier.correct},
                                   {"loss_steps", classifier.loss_steps},
                                   {"loss_sum", classifier.loss_sum}}}};
  if (labelled_negatives > 0) json["negatives"] = {{"labelled", labelled_negatives}, {"false", false_negatives}};
  if (neighbour_pairs > 0) json["neighbours"] = {{"pairs", neighbour_pairs}, {"next", next_hits}, {"previous", previous_hits}};
  return json;
}

Evidence Evidence::from_json(const nlohmann::ordered_json& json) {
  Evidence evidence;
  for (const auto& item : json.at("terms")) {
    TermEvidence term;
    term.steps = count_at(item, "steps");
    term.loss_sum = number_at(item, "loss_sum");
    term.anchors = count_at(item, "anchors");
    term.clamped = count_at(item, "clamped");
    // Older programs did not count what could be clamped: the share of a resumed epoch is then of the steps since.
    if (item.contains("clampable")) {
      term.clampable = count_at(item, "clampable");
    } else {
      term.clamped = 0;
    }
    if (!item.at("min_estimate").is_null()) term.min_estimate = number_at(item, "min_estimate");
    term.sample_size_steps = share_at(item, "sample_size_steps", term.steps);
    term.sample_size_sum = number_at(item, "sample_size_sum");
    evidence.terms.push_back(term);
  }
  const auto& classifier = json.at("classifier");
  evidence.classifier.rows = count_at(classifier, "rows");
  evidence.classifier.correct = share_at(classifier, "correct", evidence.classifier.rows);
  evidence.classifier.loss_steps = count_at(classifier, "loss_steps");
  evidence.classifier.loss_sum = number_at(classifier, "loss_sum");
  if (const auto negatives = json.find("negatives"); negatives != json.end()) {
    evidence.labelled_negatives = count_at(*negatives, "labelled");
    evidence.false_negatives = share_at(*negatives, "false", evidence.labelled_negatives);
  }
  if (const auto neighbours = json.find("neighbours"); neighbours != json.end()) {
    evidence.neighbour_pairs = count_at(*neighbours, "pairs");
    evidence.next_hits = share_at(*neighbours, "next", evidence.neighbour_pairs);
    evidence.previous_hits = share_at(*neighbours, "previous", evidence.neighbour_pairs);
  }
  return evidence;
}

}  // namespace debias
