// TensorBoard event files: scalars with wall-clock times, appended record by record.
#pragma once

#include <cstdint>
#include <string>

namespace debias {

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

}  // namespace debias
