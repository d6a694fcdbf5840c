// Peak memory of a piece of work.
#pragma once

#include <cstdint>

namespace debias {

// Counts from construction: the high-water mark of resident memory is set back then (Linux, /proc/self/clear_refs), and bytes() is how far
// it rose above what was resident. If it cannot be set back, only a rise above all earlier peaks is seen. Pages of memory, not requests.
class PeakMemory {
 public:
  PeakMemory();
  int64_t bytes() const;

 private:
  int64_t before_;
};

}  // namespace debias
