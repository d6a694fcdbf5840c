// A log that keeps its lines.
#pragma once

#include <string>
#include <vector>

#include "debias/core/progress.h"

namespace debias {

class KeptLog : public Log {
 public:
  void info(const std::string& line) override { text += line + "\n"; }
  void warn(const std::string& line) override {
    text += "warning: " + line + "\n";
    warnings.push_back(line);
  }
  std::string text;
  std::vector<std::string> warnings;
};

}  // namespace debias
