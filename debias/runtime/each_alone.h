// Parallel work whose results do not depend on the number of threads.
//
// A matrix product on several threads may add in another order than on one. Here each call computes on one thread, and several calls run at
// a time; callers add the results in the order of the calls' numbers.
#pragma once

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <cstdint>

namespace debias {

// Makes torch compute on one thread until the end of the scope.
class OneThread {
 public:
  OneThread() : before_(at::get_num_threads()) {
    if (before_ > 1) at::set_num_threads(1);
  }
  ~OneThread() {
    if (before_ > 1) at::set_num_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

// Runs call(0) ... call(count - 1) in any order, without gradients.
template <class Call>
void each_alone(int64_t count, const Call& call) {
  if (count == 1) {
    const OneThread alone;
    const at::NoGradGuard no_grad;
    return call(int64_t{0});
  }
  at::parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
    const at::NoGradGuard no_grad;
    for (int64_t i = begin; i < end; ++i) call(i);
  });
}

}  // namespace debias
