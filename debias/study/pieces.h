// Work in fixed pieces on several threads: the pieces, not the threads, decide what is computed, so that results are the same for any
// number of threads.
#pragma once

#include <cstdint>
#include <functional>

#include "debias/core/philox.h"

namespace debias {

struct StudyRun {
  int64_t repetitions = 20;  // >= 1, of every setting; intervals come from their spread
  int64_t threads = 2;       // >= 1
  uint64_t seed = 1;
};

// The random numbers of the studies are drawn from a domain of their own.
inline constexpr RngDomain kStudyDomain{8};

// Calls work(0), ..., work(count - 1), each once, in any order, on `threads` threads. Each writes to a place of its own. The first
// exception is thrown again here, after all threads ended.
void for_each_piece(int64_t count, int64_t threads, const std::function<void(int64_t)>& work);

}  // namespace debias
