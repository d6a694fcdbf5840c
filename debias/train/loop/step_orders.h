// Orders for the current step, the same on all ranks.
#pragma once

#include <cstdint>

namespace debias {

struct StepOrders {
  int stop_signal = 0;  // that some rank was sent
  int64_t stopped_rank = 0;
  bool save = false;
};

}  // namespace debias
