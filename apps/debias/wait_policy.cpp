#include "apps/debias/wait_policy.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "debias/core/cpu_share.h"

namespace debias {
namespace {

// The mean of some looks: a single one may meet a process that runs for a moment.
bool is_machine_busy() {
  constexpr int kLooks = 10;
  const int spare = static_cast<int>(std::thread::hardware_concurrency()) - available_cpus();  // beyond what this process may use
  int others = 0;
  for (int look = 0; look < kLooks; ++look) {
    others += other_runnable_threads();
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
  return 2 * (others - spare * kLooks) > kLooks;
}

}  // namespace

void give_way_while_waiting(char** argv) {
  if (getenv("GOMP_SPINCOUNT") != nullptr || getenv("OMP_WAIT_POLICY") != nullptr || !is_machine_busy()) return;
  if (setenv("GOMP_SPINCOUNT", "0", 1) == 0) execv("/proc/self/exe", argv);
}

}  // namespace debias
