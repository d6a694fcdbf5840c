#include "debias/core/cpu_share.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.h"

namespace debias {
namespace cpu_share_test {

class CpuShare : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::string root() const { return folder_.path(); }

  const TemporaryFolder folder_;
};

int affinity() {
  cpu_set_t mask;
  sched_getaffinity(0, sizeof(mask), &mask);
  return CPU_COUNT(&mask);
}

TEST_F(CpuShare, WithoutControlGroupsTheAffinityMaskDecides) { EXPECT_EQ(available_cpus(root()), affinity()); }

TEST_F(CpuShare, AQuotaOfVersion2IsRoundedUp) {
  write("/proc/self/cgroup", "0::/job\n");
  write("/sys/fs/cgroup/job/cpu.max", "50000 100000\n");
  EXPECT_EQ(cpus_within(8, root()), 1);
  write("/sys/fs/cgroup/job/cpu.max", "110000 100000\n");
  EXPECT_EQ(cpus_within(8, root()), 2);
  EXPECT_EQ(cpus_within(1, root()), 1);
  write("/sys/fs/cgroup/job/cpu.max", "max 100000\n");
  EXPECT_EQ(cpus_within(8, root()), 8);
}

TEST_F(CpuShare, TheGroupsAboveCountToo) {
  write("/proc/self/cgroup", "0::/slice/job\n");
  write("/sys/fs/cgroup/slice/job/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/slice/cpu.max", "100000 100000\n");
  EXPECT_EQ(cpus_within(8, root()), 1);
}

TEST_F(CpuShare, InAContainerTheMountIsTheGroup) {
  write("/proc/self/cgroup", "0::/path/of/the/host\n");
  write("/sys/fs/cgroup/cpu.max", "100000 100000\n");
  EXPECT_EQ(cpus_within(8, root()), 1);
}

TEST_F(CpuShare, AQuotaOfVersion1) {
  write("/proc/self/cgroup", "5:memory:/other\n4:cpu,cpuacct:/job\n");
  write("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "80000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cpus_within(8, root()), 1);
  write("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(cpus_within(8, root()), 8);
}

TEST_F(CpuShare, CountsTheRunnableThreadsOfOthers) {
  EXPECT_EQ(other_runnable_threads(root()), 0);
  write("/proc/stat", "cpu  1 2 3\nprocesses 7\nprocs_running 4\nprocs_blocked 9\n");
  EXPECT_EQ(other_runnable_threads(root()), 3);
}

TEST(IsBusy, WhereOthersWantTheProcessorsInMostLooks) {
  EXPECT_TRUE(is_busy({1, 1, 1, 0}, 0));
  EXPECT_FALSE(is_busy({1, 1, 0, 0}, 0));
  EXPECT_FALSE(is_busy({0, 0, 0, 0}, 0));
  EXPECT_FALSE(is_busy({}, 0));
}

TEST(IsBusy, NotByThreadsThatHaveProcessorsOfTheirOwn) {
  EXPECT_FALSE(is_busy({3, 3, 3, 3}, 3));
  EXPECT_TRUE(is_busy({4, 4, 4, 3}, 3));
}

}  // namespace cpu_share_test
}  // namespace debias
