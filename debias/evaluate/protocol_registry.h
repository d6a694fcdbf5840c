// Evaluation protocols by name (`debias eval knn,linear_dcl RUN`).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/options.h"
#include "debias/core/progress.h"
#include "debias/evaluate/protocol.h"
#include "debias/results/metric.h"

namespace debias {

struct ProtocolEntry {
  std::string name;  // knn, linear_dcl, linear_supcon, ...
  std::vector<std::string> aliases;
  std::string summary;
  std::vector<Metric> metrics;  // that its results may have
  std::vector<OptionSpec> options;
  std::function<EvaluationResult(const EvaluationInput&, EvaluationCache&, const Config& options, Progress&)> run;
  std::function<void(const Config& options)> check;  // usage errors of the options, before anything runs
};
const std::vector<ProtocolEntry>& protocol_registry();

// Of all of them, in the order of the registry; those that several protocols have are there several times.
std::vector<Metric> protocol_metrics();

}  // namespace debias
