// The metric files of a run: metrics.jsonl (step and epoch lines), metrics.csv (epoch lines), times.jsonl (results/run_files.h),
// TensorBoard events.
//
// The first two hold no wall-clock times, so that a resumed run writes the same bytes; metrics.csv is a function of metrics.jsonl.
#pragma once

#include <cstdint>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "debias/core/config.h"
#include "debias/core/progress.h"
#include "debias/results/run_files.h"

namespace debias {

// TensorBoard event files: scalars with wall-clock times, appended record by record.

// Record framing (TFRecord): little-endian length, masked CRC-32C of it, the protobuf Event, masked CRC-32C of that. A failed write is put
// off to the next flush and otherwise ignored: the file is a convenience and never stops a run.
class TensorBoardWriter {
 public:
  explicit TensorBoardWriter(const std::string& folder);  // creates events.out.tfevents.TIME.HOST.PID in it
  void scalar(const std::string& tag, int64_t step, double value);
  // A summary without a value, whose `content` the plugin reads.
  void plugin(const std::string& tag, const std::string& name, const std::string& content);
  ~TensorBoardWriter();
  TensorBoardWriter(const TensorBoardWriter&) = delete;
  TensorBoardWriter& operator=(const TensorBoardWriter&) = delete;
  void flush();

 private:
  void record(const std::string& bytes);
  int file_;
  int64_t written_ = 0;
  std::string pending_;
};

uint32_t crc32c(const void* data, size_t bytes);  // Castagnoli

// Record of metrics.jsonl in a checkpoint.
struct MetricMark {
  int64_t bytes = 0;
  std::string sha256;  // of these bytes; empty: not known
};

// A data error where metrics.jsonl, at `path`, is shorter than `mark` knows or begins otherwise.
void require_metrics(const std::string& path, const MetricMark& mark);

class MetricFiles {
 public:
  // Opens or creates the files in `folder`, metrics.jsonl cut back to what `keep` knows. A data error where it is shorter or other.
  MetricFiles(const std::string& folder, const MetricMark& keep, Log& log);

  // A line of metrics.jsonl, and its numbers to TensorBoard at `step`. Lines with a key "step" are step lines, others epoch lines.
  void write(const nlohmann::ordered_json& line, int64_t step);
  // A line of times.jsonl, and the rate to TensorBoard as "time/COUNTED_per_second". A line that cannot be written is a warning.
  void write_time(const EpochTime& time, int64_t step);
  void begin(const Config& resolved);  // the run's options, for TensorBoard
  void finish();

  // Flushes to disk and rewrites metrics.csv. A metrics.jsonl that somebody cut or removed meanwhile is written anew, which `log` hears.
  // Throws DiskFull, having added nothing, where there is no room: to be called again later.
  MetricMark commit();

 private:
  void append(const std::string& path) const;

  std::string folder_;
  Log& log_;
  std::string text_;  // all of metrics.jsonl
  size_t on_disk_ = 0;
  bool table_is_old_ = false;
  TensorBoardWriter tensorboard_;
};

// Epoch lines as a table: the union of their keys in order of appearance, one row per line. A data error on what is not a line of metrics.
std::string epoch_table_csv(const std::string& jsonl);

}  // namespace debias
