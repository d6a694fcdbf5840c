// TensorBoard event files: scalars with wall-clock times, appended record by record.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace debias {

// Record framing (TFRecord): little-endian length, masked CRC-32C of it, the protobuf Event, masked CRC-32C of that. A failed write is
// ignored: the file is a convenience and never stops a run.
class TensorBoardWriter {
 public:
  explicit TensorBoardWriter(const std::string& folder);  // creates events.out.tfevents.TIME.HOST.PID in it
  void scalar(const std::string& tag, int64_t step, double value);
  void flush() { file_.flush(); }

 private:
  void record(const std::string& bytes);
  std::ofstream file_;
};

uint32_t crc32c(const void* data, size_t bytes);  // Castagnoli

}  // namespace debias
