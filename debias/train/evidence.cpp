#include "debias/train/evidence.h"

#include <algorithm>
#include <cmath>

namespace debias {
namespace {

double ratio(double part, int64_t of) { return of > 0 ? part / static_cast<double>(of) : 0.0; }

}  // namespace

void TermEvidence::add(const TermEvidence& more) {
  steps += more.steps;
  loss_sum += more.loss_sum;
  anchors += more.anchors;
  clamped += more.clamped;
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
}

std::string term_prefix(const std::vector<std::string>& labels, size_t term) { return labels.size() < 2 ? "" : labels[term] + "."; }

Metrics Evidence::metrics(const std::vector<std::string>& labels) const {
  Metrics metrics;
  for (size_t i = 0; i < terms.size(); ++i) {
    const TermEvidence& term = terms[i];
    const std::string prefix = term_prefix(labels, i);
    if (terms.size() > 1) metrics.emplace_back(prefix + "loss", ratio(term.loss_sum, term.steps));
    metrics.emplace_back(prefix + "clamped_share", ratio(static_cast<double>(term.clamped), term.anchors));
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
  return metrics;
}

nlohmann::ordered_json Evidence::to_json() const {
  auto list = nlohmann::ordered_json::array();
  for (const auto& term : terms) {
    list.push_back({{"steps", term.steps},
                    {"loss_sum", term.loss_sum},
                    {"anchors", term.anchors},
                    {"clamped", term.clamped},
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
  return json;
}

Evidence Evidence::from_json(const nlohmann::ordered_json& json) {
  Evidence evidence;
  for (const auto& item : json.at("terms")) {
    TermEvidence term;
    term.steps = item.at("steps").get<int64_t>();
    term.loss_sum = item.at("loss_sum").get<double>();
    term.anchors = item.at("anchors").get<int64_t>();
    term.clamped = item.at("clamped").get<int64_t>();
    if (!item.at("min_estimate").is_null()) term.min_estimate = item.at("min_estimate").get<double>();
    term.sample_size_steps = item.at("sample_size_steps").get<int64_t>();
    term.sample_size_sum = item.at("sample_size_sum").get<double>();
    evidence.terms.push_back(term);
  }
  const auto& classifier = json.at("classifier");
  evidence.classifier.rows = classifier.at("rows").get<int64_t>();
  evidence.classifier.correct = classifier.at("correct").get<int64_t>();
  evidence.classifier.loss_steps = classifier.at("loss_steps").get<int64_t>();
  evidence.classifier.loss_sum = classifier.at("loss_sum").get<double>();
  if (const auto negatives = json.find("negatives"); negatives != json.end()) {
    evidence.labelled_negatives = negatives->at("labelled").get<int64_t>();
    evidence.false_negatives = negatives->at("false").get<int64_t>();
  }
  return evidence;
}

}  // namespace debias
