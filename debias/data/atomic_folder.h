// Folders that are whole or absent.
#pragma once

#include <string>

namespace debias {

// Built beside its target and renamed to it, once everything in it is on disk. Destroyed without commit(), it leaves nothing behind.
// Folders above the target are made where they are missing. The target must not exist: a usage error, at the start and at the end.
// Other failures are resource errors naming the path.
class AtomicFolder {
 public:
  explicit AtomicFolder(const std::string& path);
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  const std::string& building() const { return temporary_; }  // the folder to write into
  void commit();

 private:
  std::string path_;
  std::string temporary_;
};

}  // namespace debias
