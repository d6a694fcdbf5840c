#include "debias/runtime/threads.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <latch>
#include <system_error>
#include <thread>
#include <vector>

#include "debias/core/cpu_share.h"
#include "debias/core/error.h"

namespace debias {
namespace {

// So many, this one among them.
void require_threads(int count) {
  std::latch asked(1);
  std::vector<std::thread> threads;
  bool all = true;
  try {
    for (int i = 1; i < count; ++i) threads.emplace_back([&] { asked.wait(); });
  } catch (const std::system_error&) {
    all = false;
  }
  asked.count_down();
  for (auto& thread : threads) thread.join();
  if (all) return;
  throw resource_error(
      "{} threads are asked for and {} can be started; ask for fewer (train.threads, OMP_NUM_THREADS), or raise the limits of threads and "
      "memory (ulimit -u, ulimit -v)",
      count, threads.size() + 1);
}

}  // namespace

void use_threads(std::optional<int64_t> asked) {
  const int threads = asked ? static_cast<int>(*asked) : std::min(at::get_num_threads(), available_cpus());
  require_threads(threads);
  at::set_num_threads(threads);
}

}  // namespace debias
