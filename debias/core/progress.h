// Sinks to which long work reports. The library never prints: the command passes sinks that do.
#pragma once

#include <cstdint>
#include <string>

namespace debias {

// One running task at a time: begin, any number of advances, end. Implementations must be cheap to call once per batch.
class Progress {
 public:
  virtual ~Progress() = default;
  virtual void begin(const std::string& /*label*/, int64_t /*total*/) {}
  virtual void advance(int64_t /*done*/, const std::string& /*note*/) {}  // `done` of `total`; note: "loss 5.31"
  virtual void end() {}

  static Progress& silent();
};

class Log {
 public:
  virtual ~Log() = default;
  virtual void info(const std::string& /*line*/) {}
  virtual void warn(const std::string& /*line*/) {}

  static Log& silent();
};

}  // namespace debias
