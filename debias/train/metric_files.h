// The metric files of a run: metrics.jsonl (step and epoch lines), metrics.csv (epoch lines), TensorBoard events.
//
// The first two hold no wall-clock times, so that a resumed run writes the same bytes; metrics.csv is a function of metrics.jsonl.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>

#include "debias/train/tensorboard.h"

namespace debias {

class MetricFiles {
 public:
  // Opens or creates the files in `folder`, cut back to the first `keep_bytes` of metrics.jsonl.
  MetricFiles(const std::string& folder, int64_t keep_bytes);

  // A line of metrics.jsonl, and its numbers to TensorBoard at `step`. Lines with a key "step" are step lines, others epoch lines.
  void write(const nlohmann::ordered_json& line, int64_t step);
  void timing(const std::string& tag, int64_t step, double value) { tensorboard_.scalar(tag, step, value); }

  // Flushes to disk, rewrites metrics.csv, and returns the length of metrics.jsonl: what a checkpoint remembers.
  int64_t commit();

 private:
  std::string folder_;
  std::string text_;  // all of metrics.jsonl
  size_t on_disk_ = 0;
  TensorBoardWriter tensorboard_;
};

// Epoch lines as a table: the union of their keys in order of appearance, one row per line.
std::string epoch_table_csv(const std::string& jsonl);

}  // namespace debias
