#include "debias/process/large_blocks.h"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "debias/kernels/cpu/huge_pages.h"

namespace debias {
namespace {

constexpr size_t kMost = size_t{32} << 30;

bool environment_sets_malloc() {
  const char* value = std::getenv("GLIBC_TUNABLES");
  return value != nullptr && std::string_view(value).find("glibc.malloc") != std::string_view::npos;
}

// The heap's next gigabytes, none of which is touched: once taken and given back, they keep the advice. Where address space is limited it
// is left to those who need it.
void ask_for_huge_pages_in_heap() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY) return;
  const auto memory = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t bytes = std::min(memory / 2, kMost);
  void* heap = std::malloc(bytes);
  if (heap == nullptr) return;
  kernels::cpu::ask_for_huge_pages(heap, static_cast<int64_t>(bytes));
  std::free(heap);
}

}  // namespace

void keep_large_blocks() {
#if defined(__GLIBC__)
  if (environment_sets_malloc()) return;
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
  ask_for_huge_pages_in_heap();
#endif
}

}  // namespace debias
