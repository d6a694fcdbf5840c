#include "debias/data/parallel_blocks.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "debias/core/cpu_share.h"

namespace debias {

void for_each_block(int64_t count, int64_t block, const std::function<void(int64_t first, int64_t last)>& work,
                    const std::function<void(int64_t images)>& done) {
  std::atomic<int64_t> next{0};
  std::mutex mutex;  // of what follows
  std::exception_ptr failure;
  int64_t finished = 0;
  const auto run = [&] {
    try {
      for (int64_t first = next.fetch_add(block); first < count; first = next.fetch_add(block)) {
        const int64_t last = std::min(first + block, count);
        work(first, last);
        const std::lock_guard lock(mutex);
        done(finished += last - first);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  std::vector<std::thread> pool;
  const int64_t threads = std::min<int64_t>((count + block - 1) / block, available_cpus());
  try {
    for (int64_t t = 1; t < threads; ++t) pool.emplace_back(run);
  } catch (const std::system_error&) {  // fewer threads do the same
  }
  run();
  for (std::thread& thread : pool) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace debias
