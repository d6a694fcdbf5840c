#include "debias/process/wait_policy.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "debias/core/cpu_share.h"

namespace debias {
namespace {

bool is_machine_busy() {
  constexpr size_t kLooks = 10;
  const int spare = static_cast<int>(std::thread::hardware_concurrency()) - available_cpus();
  std::vector<int> others;
  while (others.size() < kLooks) {
    others.push_back(other_runnable_threads());
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
  return is_busy(others, spare);
}

}  // namespace

void give_way_while_waiting(char** argv) {
  if (getenv("GOMP_SPINCOUNT") != nullptr || getenv("OMP_WAIT_POLICY") != nullptr || !is_machine_busy()) return;
  if (setenv("GOMP_SPINCOUNT", "0", 1) == 0) execv("/proc/self/exe", argv);
}

}  // namespace debias
