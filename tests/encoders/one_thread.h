// For tests of tiny tensors, where a second thread only waits, and long on a busy machine.
#pragma once

#include <ATen/Parallel.h>

namespace debias {

class OneThread {
 public:
  OneThread() { at::set_num_threads(1); }
  ~OneThread() { at::set_num_threads(before_); }

 private:
  const int before_ = at::get_num_threads();
};

}  // namespace debias
