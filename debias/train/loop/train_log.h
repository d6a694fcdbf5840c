// train.log: the log of a run with wall-clock times, beside what the caller's log shows.
#pragma once

#include <fstream>
#include <string>

#include "debias/core/progress.h"

namespace debias {

class TrainLog : public Log {
 public:
  TrainLog(const std::string& path, Log& also) : file_(path, std::ios::app), also_(also) {}
  void info(const std::string& line) override;
  void warn(const std::string& line) override;
  void note(const std::string& line);                                      // to the file alone
  void info_shortened(const std::string& line, const std::string& shown);  // `line` to the file, `shown` to the caller's log

 private:
  std::ofstream file_;
  Log& also_;
};

}  // namespace debias
