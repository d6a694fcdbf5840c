// Time that threads of one parallel region wait for the others before they yield.
#pragma once

namespace debias {

// By default the OpenMP runtime lets waiting threads spin for milliseconds, on processors that other processes could use; if those are
// busy, the awaited thread queues behind the ones that wait. If the machine is busy when the process starts, it
// is started again in place with GOMP_SPINCOUNT=0: the runtime reads its settings when it is loaded. On a quiet machine nothing is done,
// since threads that sleep between regions cost a third of a step there; nor where GOMP_SPINCOUNT or OMP_WAIT_POLICY is set.
// docs/performance.md has the figures.
void give_way_while_waiting(char** argv);

}  // namespace debias
