// NumPy `.npy` files, versions 1 to 3, C order, little endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "debias/core/atomic_file.h"
#include "debias/core/dtype.h"
#include "debias/core/input_file.h"

namespace debias {

// The header of a file, checked against the file's length.
struct NpyLayout {
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape;
  uint64_t data_start = 0;  // in bytes; the data reach to the end of the file
};

// For files that are read in pieces; the errors of read_npy.
NpyLayout read_npy_layout(const InputFile& file);

struct NpyArray {
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;  // C order

  int64_t count() const;
  template <class T>
  std::span<const T> as() const {  // the caller has checked dtype
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

// Throws a data error naming the file and the fault: not an .npy file, Fortran order, big endian, object or complex or structured
// dtype, a shape whose product overflows or does not match the file's length. Nothing is allocated before the length was checked.
NpyArray read_npy(const std::string& path);

// Integers of any width and sign as int64, as labels are read; data error for other dtypes (booleans included as 0/1).
std::vector<int64_t> npy_integers(const NpyArray& array, const std::string& path);

// An array that is written piece by piece, in C order; atomically (atomic_file.h): without commit() there is no file.
class NpyWriter {
 public:
  NpyWriter(const std::string& path, DType dtype, const std::vector<int64_t>& shape);
  void write(const void* data, size_t bytes) { file_.write(data, bytes); }
  void commit() { file_.commit(); }

 private:
  explicit NpyWriter(const std::string& path, const std::string& start, size_t bytes);

  AtomicFile file_;
};

// All at once.
void write_npy(const std::string& path, DType dtype, const std::vector<int64_t>& shape, const void* data);

}  // namespace debias
