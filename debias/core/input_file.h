// A file of known size, read piece by piece at given offsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace debias {

// A file descriptor that is closed at the end of its scope.

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

// Readers check what a header claims against size() before they allocate. Everything that fails (no such file, a folder or a device, no
// permission, a file that was cut after it was opened) is a data error that names the path.
class InputFile {
 public:
  explicit InputFile(std::string path);

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  void read(uint64_t offset, void* out, size_t bytes) const;

 private:
  std::string path_;
  Descriptor file_;
  uint64_t size_ = 0;
};

// A whole file in memory.
constexpr int64_t kLargestFile = int64_t{1} << 31;  // bytes

// FileError when it is missing, not a regular file, larger than `limit`, or cannot be read.
std::vector<uint8_t> read_file_bytes(const std::string& path, int64_t limit = kLargestFile);

// Throws a data error "WHAT: root: ..." that names the path and the files looked for, unless `root` is a folder; a usage error when it
// is empty.
void require_root(const std::string& root, const std::string& what, const std::string& looked_for);

// Recognises files of other kinds, given where a run, weights or a recipe is read, by their first bytes.
struct ForeignFile {
  std::string what;    // "a NumPy array"; empty: an unknown kind (known: .npy, what torch.save writes, ONNX, text)
  std::string advice;  // "convert it in Python: ..."
  bool is_text = false;
};

ForeignFile foreign_file(const InputFile& file);

}  // namespace debias
