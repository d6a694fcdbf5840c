// Unfinished files and folders, which are removed even where a signal ends the process without unwinding.
#pragma once

#include <string>
#include <utility>

namespace debias {

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

}  // namespace debias
