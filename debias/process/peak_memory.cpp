#include "debias/process/peak_memory.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace debias {
namespace {

int64_t status_bytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kilobytes = 0;
    if (word == field + ":" && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

bool reset_high_water_mark() {
  std::ofstream clear("/proc/self/clear_refs");
  clear << "5" << std::flush;
  return clear.good();
}

}  // namespace

PeakMemory::PeakMemory() : before_(reset_high_water_mark() ? status_bytes("VmRSS") : status_bytes("VmHWM")) {}

int64_t PeakMemory::bytes() const { return std::max<int64_t>(0, status_bytes("VmHWM") - before_); }

}  // namespace debias
