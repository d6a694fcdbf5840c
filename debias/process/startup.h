// What a program needs of the system as it starts: a large enough stack, idle threads that give way, a heap that keeps its blocks; and how
// much memory a part of it took.
#pragma once

#include <cstdint>
#include <functional>

namespace debias {

// A stack that is large enough for any `ulimit -s`.

// Calls `work` and returns what it returns. If this process got less than 1 MB, it runs on a stack of 8 MB, as all threads then have
// that start later, and the process exits with what it returns. A resource error if there is no room for it. `work` throws nothing. The
// program may start anew with `argv`.
int with_stack_room(char** argv, const std::function<int()>& work);

// Time that threads of one parallel region wait for the others before they yield.

// By default the OpenMP runtime lets waiting threads spin for milliseconds, on processors that other processes could use; if those are
// busy, the awaited thread queues behind the ones that wait. If the machine is busy when the process starts, it
// is started again in place with GOMP_SPINCOUNT=0: the runtime reads its settings when it is loaded. On a quiet machine nothing is done,
// since threads that sleep between regions cost a third of a step there; nor where GOMP_SPINCOUNT or OMP_WAIT_POLICY is set.
// docs/performance.md has the figures.
void give_way_while_waiting(char** argv);

// Memory for large tensors that stays with the process from step to step.

// glibc hands blocks of more than 32 MB, and free memory at the end of the heap, back to the system, which clears every page of them
// again at the next request: a tenth to a sixth of a training step's time. From here on the process keeps them, and requests
// large pages where the heap will grow. This is for the process that trains, evaluates or embeds: its memory does not shrink before it
// ends. The library itself leaves malloc as its host has it. Nothing is done where GLIBC_TUNABLES says something of glibc.malloc.
void keep_large_blocks();

// Peak memory of a piece of work.

// Counts from construction: the high-water mark of resident memory is set back then (Linux, /proc/self/clear_refs), and bytes() is how far
// it rose above what was resident. If it cannot be set back, only a rise above all earlier peaks is seen. Pages of memory, not requests.
class PeakMemory {
 public:
  PeakMemory();
  int64_t bytes() const;

 private:
  int64_t before_;
};

}  // namespace debias
