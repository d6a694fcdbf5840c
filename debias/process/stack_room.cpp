#include "debias/process/stack_room.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>

#include "debias/core/error.h"

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

}  // namespace debias
