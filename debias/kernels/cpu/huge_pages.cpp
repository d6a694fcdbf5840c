#include "debias/kernels/cpu/huge_pages.h"

#include <sys/mman.h>

namespace debias::kernels::cpu {

void ask_for_huge_pages(void* data, int64_t bytes) {
#if defined(MADV_HUGEPAGE)
  constexpr int64_t kHuge = int64_t{2} << 20;
  const auto begin = (reinterpret_cast<intptr_t>(data) + kHuge - 1) / kHuge * kHuge;
  const auto end = (reinterpret_cast<intptr_t>(data) + bytes) / kHuge * kHuge;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), static_cast<size_t>(end - begin), MADV_HUGEPAGE);  // advice: may be ignored
#else
  static_cast<void>(data);
  static_cast<void>(bytes);
#endif
}

}  // namespace debias::kernels::cpu
