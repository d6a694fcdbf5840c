// RUN/evaluation: what the protocols found, as `debias eval` and training write it and `debias report` reads it.
//
//   evaluation/PROTOCOL.json            the latest result
//   evaluation/epoch-N/PROTOCOL.json    during training: that of each evaluation, without what is long (maps, nearest neighbours)
//   evaluation/thumbnails/*.png         images that the latest result speaks of
#pragma once

#include <cstdint>
#include <string>

#include "debias/evaluate/protocol.h"
#include "debias/runs/judged_run.h"

namespace debias {

enum class Thumbnails { kKeep, kReplace };

class EvaluationFiles {
 public:
  // `data_name`: another data set than the run's own, whose files are written beside those (knn-glyphs.json); else empty.
  EvaluationFiles(const std::string& run_folder, const std::string& data_name) : folder_(run_folder + "/evaluation"), name_(data_name) {}

  // Without the ending: RUN/evaluation/knn or RUN/evaluation/knn-glyphs.
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

// The result's record, with what was evaluated.
EvaluationRecord with_judged(EvaluationRecord record, const std::string& checkpoint, int64_t epoch, const JudgedData& data);

}  // namespace debias
