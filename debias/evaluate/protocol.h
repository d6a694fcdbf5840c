// Evaluation protocols by name (`debias eval knn,linear_dcl RUN`): a frozen encoder, data, options in; metrics out.
#pragma once

#include <cstdint>
#include <map>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/options.h"
#include "debias/core/progress.h"
#include "debias/data/dataset.h"
#include "debias/encoders/encoder.h"
#include "debias/evaluate/features.h"

namespace debias {

struct EvaluationInput {
  std::shared_ptr<Encoder> encoder;
  std::shared_ptr<const Dataset> train, valid, test;  // valid may be null
  Config train_views;                  // the run's `views:` section, for protocols that augment
  double training_temperature = 0.5;   // kNN's default temperature
  uint64_t seed = 1;
  int64_t workers = 1;
};

struct EvaluationResult {
  std::map<std::string, double> metrics;  // "test.knn_acc1" -> fraction
  nlohmann::ordered_json details;         // whole JSON for RUN/evaluation/<protocol>.json: metrics, options, counts
};

// Features are extracted once per (data set, eval views) and shared by the protocols of one call.
class FeatureCache {
 public:
  explicit FeatureCache(const EvaluationInput& input, Progress& progress) : input_(input), progress_(progress) {}
  const Features& train();
  const Features& valid();
  const Features& test();

 private:
  const EvaluationInput& input_;
  Progress& progress_;
  std::map<std::string, Features> cache_;
};

struct ProtocolEntry {
  std::string name;  // knn, linear_dcl, linear_supcon, ...
  std::vector<std::string> aliases;
  std::string summary;
  std::vector<OptionSpec> options;
  std::function<EvaluationResult(const EvaluationInput&, FeatureCache&, const Config& options, Progress&)> run;
};
const std::vector<ProtocolEntry>& protocol_registry();

}  // namespace debias
