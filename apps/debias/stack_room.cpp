#include "apps/debias/stack_room.h"

#include <pthread.h>
#include <sys/resource.h>

#include <cstddef>

#include "debias/core/error.h"

namespace debias {
namespace {

constexpr size_t kEnough = size_t{1} << 20, kGiven = size_t{8} << 20;

struct Work {
  const std::function<int()>& run;
  int result = 0;
};

void* run_work(void* argument) {
  auto& work = *static_cast<Work*>(argument);
  work.result = work.run();
  return nullptr;
}

bool runs_apart(Work& work) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_t thread{};
  const bool started = pthread_attr_setstacksize(&attributes, kGiven) == 0 && pthread_setattr_default_np(&attributes) == 0 &&
                       pthread_create(&thread, &attributes, run_work, &work) == 0;
  pthread_attr_destroy(&attributes);
  return started && pthread_join(thread, nullptr) == 0;
}

}  // namespace

int with_stack_room(const std::function<int()>& work) {
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kEnough) return work();
  Work apart{work};
  if (runs_apart(apart)) return apart.result;
  throw resource_error("the limit of the stack is {} KB (ulimit -s), and no larger one can be had; raise it to 1024 KB or more",
                       limit.rlim_cur / 1024);
}

}  // namespace debias
