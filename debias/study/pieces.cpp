#include "debias/study/pieces.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace debias {

void for_each_piece(int64_t count, int64_t threads, const std::function<void(int64_t)>& work) {
  std::atomic<int64_t> next{0};
  std::exception_ptr failure;
  std::mutex failing;
  const auto take = [&] {
    try {
      for (int64_t piece = next++; piece < count; piece = next++) work(piece);
    } catch (...) {
      const std::lock_guard lock(failing);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (int64_t i = 1; i < std::min(threads, count); ++i) others.emplace_back(take);
    } catch (const std::system_error&) {  // those that could be started share the work
    }
    take();
  }
  if (failure) std::rethrow_exception(failure);
}

void for_each_piece(int64_t count, const StudyRun& run, const std::string& label, const std::function<void(int64_t)>& work) {
  std::mutex telling;
  int64_t done = 0;
  run.progress->begin(label, count);
  for_each_piece(count, run.threads, [&](int64_t piece) {
    work(piece);
    const std::lock_guard lock(telling);
    run.progress->advance(++done, "");
  });
  run.progress->end();
}

}  // namespace debias
