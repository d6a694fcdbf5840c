// Files that are whole or absent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "debias/core/unfinished.h"

namespace debias {

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

}  // namespace debias
