// No room on a disk: an error of its own, since who writes may wait for room and try again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "debias/core/error.h"

namespace debias {

// "writing 'PATH': the disk is full: 1,234 bytes are needed, 100 are free; ...". `needed` is what the file has in all; `given_back` what
// becomes free again now that it is given up; errno says whether it is the disk or the quota.
class DiskFull : public Error {
 public:
  DiskFull(const std::string& path, uint64_t needed, uint64_t given_back = 0);
  const std::string& path() const { return path_; }
  uint64_t needed() const { return needed_; }

 private:
  std::string path_;
  uint64_t needed_;
};

// True if errno says that the disk, or the user's quota of it, is used up.
bool means_full_disk(int reason);

// "writing 'PATH': the file would be larger than this process may write (ulimit -f: 1024 bytes); ...", of EFBIG. Waiting does not help.
Error file_too_large(const std::string& path);

// Free bytes where `path` is, or will be; nullopt if unknown.
std::optional<uint64_t> free_bytes(const std::string& path);

}  // namespace debias
