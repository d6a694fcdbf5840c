// A recipe's protocols as an observer of the training loop, for samples of any kind.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "debias/evaluate/condition.h"
#include "debias/evaluate/protocol.h"
#include "debias/runs/evaluated_data.h"
#include "debias/runs/evaluation_files.h"
#include "debias/train/loop/trainer.h"

namespace debias {

// Computes the metrics of the protocols every `evaluate.every` epochs and at the end, and writes their results to RUN/evaluation
// (evaluation_files.h). `progress` and `log` must outlive it.
class ProtocolEvaluation : public TrainObserver {
 public:
  // `protocols` are registered names; `data` are sections of the resolved recipe, for the records.
  ProtocolEvaluation(const Recipe& recipe, std::vector<std::string> protocols, EvaluatedData data, EvaluationInput input,
                     Progress& progress, Log& log);
  bool is_due(int64_t epoch, int64_t epochs) const override { return epoch % recipe_.evaluate.every() == 0 || epoch == epochs; }
  std::vector<std::pair<std::string, double>> after_epoch(const EpochEnd& end) override;

 protected:
  virtual void take(const Model& model) { input_.encoder = model.encoder; }
  virtual void add_metrics(EvaluationCache&, NamedMetrics&) const {}  // metrics that no protocol gives

  Recipe recipe_;
  std::vector<std::string> protocols_;
  EvaluatedData data_;
  EvaluationInput input_;
  Progress& progress_;
  Log& log_;

 private:
  void keep(const std::string& protocol, const EvaluationResult& result, const EpochEnd& end);

  EvaluationFiles files_;
  std::set<std::string> said_;  // notes that were logged
};

// `evaluate.select` keeps the epoch with the largest value. Usage error for a metric whose largest value is not the best.
void require_more_is_better(const std::string& select);

}  // namespace debias
