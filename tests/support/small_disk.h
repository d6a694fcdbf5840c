// A file system of a few pages, to be filled.
#pragma once

#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temporary_folder.h"

namespace debias {

// Where nothing may be mounted, is_there() is false: GTEST_SKIP() then.
class SmallDisk {
 public:
  explicit SmallDisk(int64_t bytes) {
    is_there_ = mount("tmpfs", folder_.path().c_str(), "tmpfs", 0, fmt::format("size={}", bytes).c_str()) == 0;
  }
  ~SmallDisk() {
    if (is_there_) umount2(folder_.path().c_str(), MNT_DETACH);
  }
  bool is_there() const { return is_there_; }
  std::string operator/(const std::string& name) const { return folder_ / name; }

  int64_t free() const {
    struct statvfs about {};
    statvfs(folder_.path().c_str(), &about);
    return static_cast<int64_t>(about.f_bavail * about.f_frsize);
  }
  // Leaves so many bytes of room.
  void fill(int64_t room) const {
    make_room();
    const std::string bytes(static_cast<size_t>(std::max<int64_t>(0, free() - room)), 'x');
    std::ofstream(filler(), std::ios::binary) << bytes;
  }
  void make_room() const { std::filesystem::remove(filler()); }

 private:
  std::string filler() const { return folder_ / "filler"; }
  TemporaryFolder folder_;
  bool is_there_ = false;
};

}  // namespace debias
