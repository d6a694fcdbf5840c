// A matrix of feature vectors in a file, one row per sample, read in blocks of rows.
//
// Formats: `.npy` of float16, float32 or float64, shape [n, D], C order; `.safetensors` with one such tensor, or one of several by its
// name, bfloat16 included. The file stays on disk; only requested blocks are in memory.
// Values are converted to float32, float64 ones by rounding.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "debias/core/dtype.h"
#include "debias/core/input_file.h"

namespace debias {

// A value that computations in float32 cannot use, and its position, from 0.
struct UnusableValue {
  int64_t row = 0, column = 0;
  double value = 0;  // as the file has it
};

// Thread-safe for concurrent calls of every const method.
class FeatureVectors {
 public:
  // `key`: the name of the tensor in a safetensors file; may be empty if the file has one tensor. Data errors: a file that is missing,
  // damaged, in Fortran order, of another element type or of another shape than [n, D] with n, D >= 1; several tensors and no key. Usage
  // errors: an unknown key, a key for an .npy file, and files of other formats (.parquet, .csv, .pt), with the conversion to use.
  static FeatureVectors open(const std::string& path, const std::string& key = "");

  const std::string& path() const { return file_.path(); }
  int64_t rows() const { return rows_; }
  int64_t dimensions() const { return dimensions_; }
  DType dtype() const { return dtype_; }

  // Rows begin ... begin + count - 1 into `out` [count, D]. Requires 0 <= begin and begin + count <= rows(). Data error if the file
  // was truncated since it was opened.
  void read(int64_t begin, int64_t count, float* out) const;

  // The rows `places`, each in [0, rows()), into `out` [places.size(), D], in that order; runs of adjacent rows are read at once.
  void read_places(std::span<const int64_t> places, float* out) const;

  // The largest size of a value: the squared distance between two rows, up to 4 D x^2, must not overflow float32.
  float largest() const;

  // The first in row order that is not finite, or beyond largest(); nullopt if there is none.
  std::optional<UnusableValue> first_unusable() const;

 private:
  FeatureVectors(InputFile file, DType dtype, int64_t rows, int64_t dimensions, uint64_t start);
  double written_value(int64_t element_index, float read) const;

  InputFile file_;
  DType dtype_;
  int64_t rows_, dimensions_;
  uint64_t start_;  // of the data, in bytes
};

// Rows that say nothing about their sample: of zeros, and those that repeat an earlier row bit by bit.
struct RepeatedVectors {
  std::vector<int64_t> zeros;                             // rows, ascending
  std::vector<std::pair<int64_t, int64_t>> of_earlier{};  // a row that is not of zeros and the first that it repeats, ascending
};
RepeatedVectors repeated_vectors(const FeatureVectors& vectors);

// Throws a data error that names file, row and column of an unusable value.
void require_usable(const FeatureVectors& vectors);

}  // namespace debias
