// Evaluation protocols by name (`debias eval knn,linear_dcl RUN`).
#pragma once

#include <any>
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
  std::function<std::any(const Config& section)> read;  // options, of the protocol's own type; usage errors
  std::function<EvaluationResult(const EvaluationInput&, EvaluationCache&, const std::any& options, Progress&)> run;
  // Errors of data sets that lack the labels or bias labels that it needs, or the images that its options need.
  std::function<void(const EvaluationInput&, const std::any& options)> check_data;
  SampleKind reads = SampleKind::kImages;
  bool is_of_splits = true;  // its metrics are of the run's valid and test set; else of data of its own, and have no split in front
};
const std::vector<ProtocolEntry>& protocol_registry();

// The entry, by its name or an alias. Usage errors, `where` in front: no such protocol, or one that does not read such samples.
const ProtocolEntry& protocol_for(SampleKind samples, const std::string& name, const std::string& where = "");
std::vector<std::string> protocols_for(SampleKind samples);  // their names

// Metrics of all protocols, in the order of the registry; one that several protocols have is repeated.
std::vector<Metric> protocol_metrics();

}  // namespace debias
