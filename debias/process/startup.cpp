#include "debias/process/startup.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "debias/core/cpu_share.h"
#include "debias/core/error.h"
#include "debias/kernels/cpu/huge_pages.h"

namespace debias {
namespace {

constexpr size_t kEnough = size_t{1} << 20, kGiven = size_t{8} << 20;

// The process ends from here, too: destructors of libraries do not fit on a small stack either.
void* run_and_exit(void* work) { std::exit((*static_cast<const std::function<int()>*>(work))()); }

void exit_from_elsewhere(const std::function<int()>& work) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_t thread{};
  const bool started = pthread_attr_setstacksize(&attributes, kGiven) == 0 && pthread_setattr_default_np(&attributes) == 0 &&
                       pthread_create(&thread, &attributes, run_and_exit, const_cast<std::function<int()>*>(&work)) == 0;
  pthread_attr_destroy(&attributes);
  if (started) pthread_join(thread, nullptr);
}

}  // namespace

int with_stack_room(char** argv, const std::function<int()>& work) {
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kEnough) return work();
  // The threads of OpenMP have what its library found when it was loaded.
  if (std::getenv("OMP_STACKSIZE") == nullptr && setenv("OMP_STACKSIZE", "8M", 1) == 0) execv("/proc/self/exe", argv);
  exit_from_elsewhere(work);
  throw resource_error("the limit of the stack is {} KB (ulimit -s), and no larger one is available; raise it to 1024 KB or more",
                       limit.rlim_cur / 1024);
}

namespace {

bool is_machine_busy() {
  constexpr size_t kLooks = 10;
  const int spare = static_cast<int>(std::thread::hardware_concurrency()) - available_cpus();
  std::vector<int> others;
  while (others.size() < kLooks) {
    others.push_back(other_runnable_threads());
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
  return is_busy(others, spare);
}

}  // namespace

void give_way_while_waiting(char** argv) {
  if (getenv("GOMP_SPINCOUNT") != nullptr || getenv("OMP_WAIT_POLICY") != nullptr || !is_machine_busy()) return;
  if (setenv("GOMP_SPINCOUNT", "0", 1) == 0) execv("/proc/self/exe", argv);
}

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

namespace {

int64_t status_bytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kilobytes = 0;
    if (word == field + ":" && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

bool reset_high_water_mark() {
  std::ofstream clear("/proc/self/clear_refs");
  clear << "5" << std::flush;
  return clear.good();
}

}  // namespace

PeakMemory::PeakMemory() : before_(reset_high_water_mark() ? status_bytes("VmRSS") : status_bytes("VmHWM")) {}

int64_t PeakMemory::bytes() const { return std::max<int64_t>(0, status_bytes("VmHWM") - before_); }

}  // namespace debias
