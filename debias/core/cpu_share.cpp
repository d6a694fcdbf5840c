#include "debias/core/cpu_share.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <sstream>
#include <thread>

namespace debias {
namespace {

namespace fs = std::filesystem;

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

int allowed_by_affinity() {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return static_cast<int>(std::thread::hardware_concurrency());
  return CPU_COUNT(&mask);
}

double share(const std::string& quota, const std::string& period) {
  try {
    const double microseconds = std::stod(quota), of = std::stod(period);
    return microseconds > 0 && of > 0 ? microseconds / of : kNoLimit;  // "max" does not read as a number, -1 is no limit
  } catch (const std::exception&) {
    return kNoLimit;
  }
}

std::string first_word(const fs::path& file) {
  std::ifstream in(file);
  std::string word;
  in >> word;
  return word;
}

double quota_of(const fs::path& group, bool unified) {
  if (!unified) return share(first_word(group / "cpu.cfs_quota_us"), first_word(group / "cpu.cfs_period_us"));
  std::ifstream in(group / "cpu.max");
  std::string quota, period;
  in >> quota >> period;
  return share(quota, period);
}

// Quota of the group and of all above it. Inside a container the path is often the host's: the mount itself is then the group.
double quota_along(const fs::path& mount, const fs::path& group, bool unified) {
  double least = quota_of(mount, unified);
  fs::path below = mount;
  for (const auto& part : group.relative_path()) {
    below /= part;
    least = std::min(least, quota_of(below, unified));
  }
  return least;
}

bool controls_cpu(const std::string& controllers) {
  std::istringstream names(controllers);
  for (std::string name; std::getline(names, name, ',');) {
    if (name == "cpu") return true;
  }
  return false;
}

double allowed_by_groups(const std::string& root) {
  std::ifstream groups(root + "/proc/self/cgroup");
  double least = kNoLimit;
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    if (controllers.empty()) {
      least = std::min(least, quota_along(root + "/sys/fs/cgroup", group, true));
    } else if (controls_cpu(controllers)) {
      for (const std::string& mount : {controllers, std::string("cpu")}) {
        least = std::min(least, quota_along(root + "/sys/fs/cgroup/" + mount, group, false));
      }
    }
  }
  return least;
}

}  // namespace

int cpus_within(int allowed, const std::string& root) {
  const double limit = std::min<double>(allowed, std::ceil(allowed_by_groups(root) - 1e-9));
  return std::max(1, static_cast<int>(limit));
}

int available_cpus(const std::string& root) { return cpus_within(allowed_by_affinity(), root); }

int other_runnable_threads(const std::string& root) {
  std::ifstream stat(root + "/proc/stat");
  for (std::string line; std::getline(stat, line);) {
    std::istringstream words(line);
    std::string name;
    int count = 0;
    if (words >> name >> count && name == "procs_running") return std::max(0, count - 1);  // less this one
  }
  return 0;
}

bool is_busy(const std::vector<int>& others, int spare) {
  const auto looks = static_cast<int>(others.size());
  return 2 * (std::accumulate(others.begin(), others.end(), 0) - spare * looks) > looks;
}

}  // namespace debias
