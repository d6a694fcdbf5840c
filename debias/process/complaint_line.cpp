#include "debias/process/complaint_line.h"

#include <unistd.h>

#include <cstdlib>

#include "debias/process/standard_streams.h"

namespace debias {

bool is_launched() { return std::getenv(kLauncherVariable) != nullptr; }

int complaint_descriptor() {
  const char* given = std::getenv(kLauncherVariable);
  return given == nullptr ? STDERR_FILENO : std::atoi(given);
}

void write_complaint(const std::string& line) {
  const int descriptor = complaint_descriptor();
  if (descriptor == STDERR_FILENO) return write_message(line + "\n");
  static_cast<void>(!write(descriptor, (line + "\n").data(), line.size() + 1));
}

}  // namespace debias
