#include "apps/debias/wait_policy.h"

#include <unistd.h>

#include <cstdlib>

namespace debias {
namespace {

constexpr char kSpins[] = "1000";  // some microseconds: longer than a region's threads need to meet on processors of their own

}  // namespace

void give_way_while_waiting(char** argv) {
  if (getenv("GOMP_SPINCOUNT") != nullptr || getenv("OMP_WAIT_POLICY") != nullptr) return;
  if (setenv("GOMP_SPINCOUNT", kSpins, 1) == 0) execv("/proc/self/exe", argv);
}

}  // namespace debias
