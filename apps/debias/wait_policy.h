// How long threads of one parallel region wait for the others before they give way.
#pragma once

namespace debias {

// By default the OpenMP runtime lets waiting threads spin for milliseconds, on processors that other processes could use; where those are
// busy, the thread that is waited for stands in the queue behind the ones that wait. The runtime reads its settings when it is loaded, so
// the process is started again in place, with a short GOMP_SPINCOUNT, where neither that variable nor OMP_WAIT_POLICY is set. Does nothing
// where that fails. docs/performance.md has what it gains beside busy processes and costs on a quiet machine.
void give_way_while_waiting(char** argv);

}  // namespace debias
