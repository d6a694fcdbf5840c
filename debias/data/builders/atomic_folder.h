// Folders that are whole or absent.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/core/atomic_file.h"
#include "debias/core/input_file.h"

namespace debias {

// Built beside its target as TARGET.tmp-PROCESS-NUMBER and renamed to it, once everything in it is on disk. Destroyed without commit(), it
// leaves nothing behind; a killed process leaves its folder, which the next one of the same target removes. It knows such folders by a lock
// (flock) that they are under as long as their process lives; on a file system without locks they stay.
//
// Folders above the target are made where they are missing. The target must not exist: a usage error, at the start and at the end; under
// kReplace, a folder of that name is replaced as a whole by commit(). Other failures are resource errors naming the path.
class AtomicFolder {
 public:
  enum class Present { kRefuse, kReplace };

  explicit AtomicFolder(const std::string& path, Present present = Present::kRefuse);
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  const std::string& building() const { return temporary_; }  // the folder to write into
  void commit();

 private:
  std::string path_;
  std::string temporary_;
  Unfinished unfinished_;
  Present present_;
  Descriptor lock_{-1};  // of the folder under construction
};

// Writes a new file of such a folder, which commit() flushes to disk. A resource error naming the path.
void write_into_folder(const std::string& path, const std::vector<uint8_t>& bytes);

}  // namespace debias
