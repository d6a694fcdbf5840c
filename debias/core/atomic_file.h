// Files that are whole or absent.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace debias {

// Written beside its target, flushed to disk, then renamed over it, and the folder flushed. Destroyed without commit(), it leaves
// nothing behind and the target untouched. Failures (no folder, no room, no permission) are resource errors naming the path.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, size_t bytes);
  void commit();

 private:
  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
};

void write_file_atomically(const std::string& path, std::string_view text);
// Renames over `to` and flushes the folder.
void rename_durably(const std::string& from, const std::string& to);

}  // namespace debias
