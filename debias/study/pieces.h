// Work in fixed pieces on several threads. Results depend on the pieces and not on the threads, so they are the same for any
// number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "debias/core/progress.h"

namespace debias {

struct StudyRun {
  int64_t repetitions = 20;  // >= 1, of every setting; intervals come from their spread
  int64_t threads = 2;       // >= 1
  uint64_t seed = 1;
  Progress* progress = &Progress::silent();  // of the long parts
};

// Calls work(0), ..., work(count - 1), each once, in any order, on `threads` threads. Each writes to a place of its own. The first
// exception is thrown again here, after all threads ended.
void for_each_piece(int64_t count, int64_t threads, const std::function<void(int64_t)>& work);

// The same on run.threads, telling run.progress of each piece that is done.
void for_each_piece(int64_t count, const StudyRun& run, const std::string& label, const std::function<void(int64_t)>& work);

}  // namespace debias
