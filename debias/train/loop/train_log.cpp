#include "debias/train/loop/train_log.h"

#include <fmt/chrono.h>

#include <ctime>

#include "debias/core/printable.h"

namespace debias {

void TrainLog::note(const std::string& line) {
  file_.clear();  // a disk that was full may have room again
  file_ << fmt::format("{:%Y-%m-%d %H:%M:%S} {}\n", fmt::localtime(std::time(nullptr)), without_control_characters(line));
  file_.flush();
}

void TrainLog::info(const std::string& line) { info_shortened(line, line); }

void TrainLog::info_shortened(const std::string& line, const std::string& shown) {
  note(line);
  also_.info(shown);
}

void TrainLog::warn(const std::string& line) {
  note("warning: " + line);
  also_.warn(line);
}

}  // namespace debias
