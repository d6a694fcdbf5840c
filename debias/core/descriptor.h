// A file descriptor that is closed at the end of its scope.
#pragma once

#include <utility>

namespace debias {

// A value below 0, as open() returns where it fails, is nothing to close. One that was moved from has such a value.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() { shut(); }
  Descriptor(Descriptor&& other) noexcept : value_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {  // `other` closes what this one had
    std::swap(value_, other.value_);
    return *this;
  }

  int value() const { return value_; }
  int release() { return std::exchange(value_, -1); }  // from then on the caller's to close
  void shut();                                         // before the end of the scope

 private:
  int value_;
};

}  // namespace debias
