// A file descriptor that is closed at the end of its scope.
#pragma once

namespace debias {

// A value below 0, as open() returns where it fails, is nothing to close.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() { shut(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int value() const { return value_; }
  void shut();  // before that

 private:
  int value_;
};

}  // namespace debias
