// A recipe's protocols as an observer of the training loop, for samples of any kind.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "debias/evaluate/condition.h"
#include "debias/evaluate/protocol.h"
#include "debias/runs/evaluated_data.h"
#include "debias/train/loop/trainer.h"

namespace debias {

// RUN/evaluation: the results of protocols. `debias eval` and training write them, `debias report` reads them.
//
//   evaluation/PROTOCOL.json            the latest result
//   evaluation/epoch-N/PROTOCOL.json    the result of each evaluation during training, without t-SNE plots, nearest neighbours and examples
//   evaluation/thumbnails/*.png         images that the latest result of kNN refers to
//   evaluation/examples/*.png           those of groups
enum class Thumbnails { kKeep, kReplace };

class EvaluationFiles {
 public:
  // `data_name`: a data set other than the run's own, whose files get its name (knn-glyphs.json); empty for the run's own.
  EvaluationFiles(const std::string& run_folder, const std::string& data_name) : folder_(run_folder + "/evaluation"), name_(data_name) {}

  // Path without the extension: RUN/evaluation/knn or RUN/evaluation/knn-glyphs.
  std::string path(const std::string& what) const { return folder_ + "/" + what + (name_.empty() ? "" : "-" + name_); }
  // The file's `what` for a result: "knn", "sentences-cheap".
  static std::string name_of(const std::string& protocol, const EvaluationResult& result) {
    return result.variant.empty() ? protocol : protocol + "-" + result.variant;
  }
  void write(const std::string& protocol, const EvaluationResult& result, const EvaluationRecord& record, Thumbnails thumbnails) const;
  void write_history(const std::string& protocol, const EvaluationRecord& record, int64_t epoch) const;

 private:
  std::string folder_, name_;
};

// The record of the result, with the run, data and options that were evaluated.
EvaluationRecord with_evaluated(EvaluationRecord record, const std::string& checkpoint, int64_t epoch, const EvaluatedData& data);

// Computes the metrics of the protocols every `evaluate.every` epochs and at the end, and writes their results to RUN/evaluation
// (EvaluationFiles). `progress` and `log` must outlive it.
class ProtocolEvaluation : public TrainObserver {
 public:
  // `protocols` are registered names; `data` are sections of the resolved recipe, for the records.
  ProtocolEvaluation(const Recipe& recipe, std::vector<std::string> protocols, EvaluatedData data, EvaluationInput input,
                     Progress& progress, Log& log);
  bool is_due(int64_t epoch, int64_t epochs) const override { return epoch % recipe_.evaluate.every == 0 || epoch == epochs; }
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
