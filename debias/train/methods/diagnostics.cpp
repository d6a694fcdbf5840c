#include "debias/train/methods/diagnostics.h"

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

void TermDiagnostics::add(const TermDiagnostics& more) {
  steps += more.steps;
  loss_sum += more.loss_sum;
  anchors += more.anchors;
  clamped += more.clamped;
  clampable += more.clampable;
  if (more.min_estimate) min_estimate = std::min(min_estimate.value_or(INFINITY), *more.min_estimate);
  sample_size_steps += more.sample_size_steps;
  sample_size_sum += more.sample_size_sum;
}

void ClassifierDiagnostics::add(const ClassifierDiagnostics& more) {
  rows += more.rows;
  correct += more.correct;
  loss_steps += more.loss_steps;
  loss_sum += more.loss_sum;
}

void Diagnostics::add(const Diagnostics& more) {
  terms.resize(more.terms.size());
  for (size_t i = 0; i < terms.size(); ++i) terms[i].add(more.terms[i]);
  classifier.add(more.classifier);
  for (const auto& metric : more.of_method) {
    const auto found = std::ranges::find(of_method, metric.name, &MethodMetric::name);
    MethodMetric& sum = found == of_method.end() ? of_method.emplace_back(metric.name) : *found;
    sum.sum += metric.sum;
    sum.count += metric.count;
  }
}

const MethodMetric* Diagnostics::metric_of_method(const std::string& name) const {
  const auto found = std::ranges::find(of_method, name, &MethodMetric::name);
  return found == of_method.end() ? nullptr : &*found;
}

std::vector<Metric> diagnostics_metrics() {
  const auto of_term = [](const char* name, const char* title, Unit unit, Better better = Better::kNeither) {
    return Metric{.name = name, .title = title, .unit = unit, .better = better, .standing = Standing::kTraining, .of_term = true};
  };
  return {{"acc1", "accuracy", Unit::kShare, Better::kHigher, Standing::kAccuracy},
          {"classifier_loss", "classifier loss", Unit::kNumber, Better::kLowerOfOneObjective, Standing::kTraining},
          of_term("loss", "loss", Unit::kNumber, Better::kLowerOfOneObjective),
          of_term("clamped_share", "clamped share", Unit::kShare),
          of_term("min_estimate", "minimum estimate before clamping", Unit::kNumber),
          of_term("effective_sample_size", "effective sample size", Unit::kNumber),
          of_term("anchors", "anchors", Unit::kNumber),
          of_term("clamped", "clamped count", Unit::kNumber)};
}

std::string term_prefix(const std::vector<std::string>& labels, size_t term) { return labels.size() < 2 ? "" : labels[term] + "."; }

Metrics Diagnostics::metrics(const std::vector<std::string>& labels) const {
  Metrics metrics;
  for (size_t i = 0; i < terms.size(); ++i) {
    const TermDiagnostics& term = terms[i];
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
  for (const auto& [name, sum, count] : of_method) {
    if (count > 0) metrics.emplace_back(name, sum / count);
  }
  return metrics;
}

nlohmann::ordered_json Diagnostics::to_json() const {
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
  for (const auto& [name, sum, count] : of_method) json["method"][name] = {{"sum", sum}, {"count", count}};
  return json;
}

Diagnostics Diagnostics::from_json(const nlohmann::ordered_json& json) {
  Diagnostics diagnostics;
  for (const auto& item : json.at("terms")) {
    TermDiagnostics term;
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
    diagnostics.terms.push_back(term);
  }
  const auto& classifier = json.at("classifier");
  diagnostics.classifier.rows = count_at(classifier, "rows");
  diagnostics.classifier.correct = share_at(classifier, "correct", diagnostics.classifier.rows);
  diagnostics.classifier.loss_steps = count_at(classifier, "loss_steps");
  diagnostics.classifier.loss_sum = number_at(classifier, "loss_sum");
  if (const auto method = json.find("method"); method != json.end()) {
    for (const auto& [name, metric] : method->items()) {
      diagnostics.of_method.push_back({name, number_at(metric, "sum"), number_at(metric, "count")});
    }
  }
  return diagnostics;
}

}  // namespace debias
