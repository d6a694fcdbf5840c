// Files that are whole or absent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "debias/core/error.h"

namespace debias {

// Unfinished files and folders, which are removed even where a signal ends the process without unwinding.

// Holds a path on the list of unfinished ones. It does not remove the path itself. Beyond 64 paths, or for one of more than 4,095 bytes,
// it holds nothing. Thread-safe.
class Unfinished {
 public:
  Unfinished() = default;
  explicit Unfinished(const std::string& path);
  ~Unfinished();
  Unfinished(Unfinished&& other) noexcept : slot_(std::exchange(other.slot_, -1)) {}
  Unfinished& operator=(Unfinished&& other) noexcept {
    std::swap(slot_, other.slot_);
    return *this;
  }

 private:
  int slot_ = -1;
};

// Removes all that is on the list, folders with what they hold. May be called in a signal handler, just before the process ends.
void remove_unfinished() noexcept;

// Written beside its target, flushed to disk, then renamed over it, and the folder flushed. Destroyed without commit(), it leaves
// nothing behind and the target untouched. Failures (no folder, no permission) are resource errors naming the path; where there is no room,
// a DiskFull with what the file has in all: `bytes`, where the caller knows it ahead.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path, uint64_t bytes = 0);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, size_t bytes);
  const std::string& building() const { return temporary_; }  // for another program to write into, in place of write()
  void commit();

 private:
  [[noreturn]] void fail(const char* action) const;

  std::string path_;
  std::string temporary_;
  Unfinished unfinished_;
  uint64_t bytes_;  // as announced, or as written and about to be
  uint64_t written_ = 0;
  int descriptor_ = -1;
};

void write_file_atomically(const std::string& path, std::string_view text);
// Renames over `to` and flushes the folder.
void rename_durably(const std::string& from, const std::string& to);

// No room on a disk: an error of its own, since who writes may wait for room and try again.

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
