// Number of processors that this process may use. `auto` numbers of threads and workers start from it.
#pragma once

#include <string>
#include <vector>

namespace debias {

// The smallest of the processors that the affinity mask allows (taskset, job schedulers) and the quota of the process's control groups and
// of those above them (containers), rounded up; at least 1. `root` is put before /proc and /sys, for tests.
//
// Control groups: version 2 (cpu.max) and version 1 (cpu.cfs_quota_us and cpu.cfs_period_us). A file that is missing or unreadable sets no
// limit.
int available_cpus(const std::string& root = "");

// The same where the affinity mask allows `allowed` processors.
int cpus_within(int allowed, const std::string& root);

// Threads of other processes that run or wait for a processor at this moment, on the whole machine; 0 if unknown. `root` as
// above.
int other_runnable_threads(const std::string& root = "");

// True if the counts of several looks (other_runnable_threads) mean that others want the processors of this process: on the mean of the
// looks, more than half a thread beyond `spare`, the processors that this process may not use. A single look may meet a process that runs
// for a moment.
bool is_busy(const std::vector<int>& others, int spare);

}  // namespace debias
