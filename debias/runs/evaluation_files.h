// RUN/evaluation: the results of protocols. `debias eval` and training write them, `debias report` reads them.
//
//   evaluation/PROTOCOL.json            the latest result
//   evaluation/epoch-N/PROTOCOL.json    the result of each evaluation during training, without t-SNE plots and nearest neighbours
//   evaluation/thumbnails/*.png         images that the latest result refers to
#pragma once

#include <cstdint>
#include <string>

#include "debias/evaluate/protocol.h"
#include "debias/runs/evaluated_data.h"

namespace debias {

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

}  // namespace debias
