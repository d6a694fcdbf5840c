#include "debias/features/feature_vectors.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "debias/core/dtype.h"
#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/core/npy.h"
#include "debias/core/safetensors.h"

namespace debias {
namespace {

constexpr int64_t kBlockBytes = 4 << 20;

struct MatrixPlace {
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape;
  uint64_t start = 0;
};

bool is_float(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16 || dtype == DType::kFloat32 || dtype == DType::kFloat64;
}

std::string extension_of(const std::string& path) { return std::filesystem::path(path).extension().string(); }

[[noreturn]] void refuse_format(const std::string& path, const std::string& extension) {
  if (extension == ".parquet") {
    throw usage_error(
        "{}: Parquet is not supported; convert it: numpy.save('Z.npy', numpy.ascontiguousarray(pandas.read_parquet('{}')[columns], "
        "'float32'))",
        path, std::filesystem::path(path).filename().string());
  }
  if (extension == ".pt" || extension == ".pth") {
    throw usage_error("{}: pickled tensors are not read; convert it: numpy.save('Z.npy', torch.load('{}', weights_only=True).numpy())",
                      path, std::filesystem::path(path).filename().string());
  }
  if (extension == ".csv") {
    throw usage_error("{}: vectors are read from .npy or .safetensors; write them with debias embed RUN --out Z.npy", path);
  }
  throw usage_error("{}: unsupported extension '{}'; give vectors as .npy or .safetensors", path, extension);
}

MatrixPlace npy_place(const InputFile& file, const std::string& key) {
  if (!key.empty()) throw usage_error("{}: an .npy file has one array; --key {} is for .safetensors", file.path(), key);
  NpyLayout layout = read_npy_layout(file);
  return {layout.dtype, std::move(layout.shape), layout.data_start};
}

MatrixPlace safetensors_place(const std::string& path, const std::string& key) {
  const SafetensorsFile file = SafetensorsFile::open(path);
  verify_safetensors(file);
  std::vector<std::string> names;
  for (const TensorEntry& entry : file.tensors()) names.push_back(entry.name);
  if (names.empty()) throw data_error("{}: it has no tensor", path);
  if (key.empty() && names.size() > 1) {
    constexpr size_t kShown = 8;
    const std::vector<std::string> shown(names.begin(), names.begin() + static_cast<ptrdiff_t>(std::min(kShown, names.size())));
    throw data_error("{}: it has {} tensors; name one with --key: {}{}", path, names.size(), fmt::join(shown, ", "),
                     names.size() > kShown ? ", ..." : "");
  }
  const TensorEntry* entry = key.empty() ? &file.tensors().front() : file.find(key);
  if (entry == nullptr) throw usage_error("{}: no tensor '{}'{}", path, key, suggestion(key, names));
  return {entry->dtype, entry->shape, file.data_start() + entry->begin};
}

template <class T>
T element(const std::byte* bytes, int64_t i) {
  T value;
  std::memcpy(&value, bytes + static_cast<size_t>(i) * sizeof(T), sizeof(T));
  return value;
}

void convert(const std::byte* bytes, DType dtype, int64_t count, float* out) {
  switch (dtype) {
    case DType::kFloat16:
      for (int64_t i = 0; i < count; ++i) out[i] = float16_value(element<uint16_t>(bytes, i));
      return;
    case DType::kBFloat16:
      for (int64_t i = 0; i < count; ++i) out[i] = bfloat16_value(element<uint16_t>(bytes, i));
      return;
    default:
      for (int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(element<double>(bytes, i));
  }
}

}  // namespace

FeatureVectors::FeatureVectors(InputFile file, DType dtype, int64_t rows, int64_t dimensions, uint64_t start)
    : file_(std::move(file)), dtype_(dtype), rows_(rows), dimensions_(dimensions), start_(start) {}

FeatureVectors FeatureVectors::open(const std::string& path, const std::string& key) {
  const std::string extension = extension_of(path);
  if (extension != ".npy" && extension != ".safetensors") refuse_format(path, extension);
  InputFile file(path);
  const MatrixPlace place = extension == ".npy" ? npy_place(file, key) : safetensors_place(path, key);
  if (!is_float(place.dtype)) {
    throw data_error("{}: vectors must be float16, float32 or float64, found {}; convert them", path, name_of(place.dtype));
  }
  if (place.shape.size() != 2 || place.shape[0] < 1 || place.shape[1] < 1) {
    throw data_error("{}: expected shape [n, D] with n and D at least 1, found [{}]", path, fmt::join(place.shape, ", "));
  }
  return FeatureVectors(std::move(file), place.dtype, place.shape[0], place.shape[1], place.start);
}

void FeatureVectors::read(int64_t begin, int64_t count, float* out) const {
  const auto size = static_cast<int64_t>(size_of(dtype_));
  const int64_t first = begin * dimensions_, last = (begin + count) * dimensions_;
  const auto place = [&](int64_t element_index) { return start_ + static_cast<uint64_t>(element_index * size); };
  if (dtype_ == DType::kFloat32) return file_.read(place(first), out, static_cast<size_t>((last - first) * size));
  std::vector<std::byte> bytes(static_cast<size_t>(std::min(kBlockBytes, (last - first) * size)));
  const int64_t block = std::max<int64_t>(1, std::ssize(bytes) / size);
  for (int64_t i = first; i < last; i += block) {
    const int64_t converted = std::min(block, last - i);
    file_.read(place(i), bytes.data(), static_cast<size_t>(converted * size));
    convert(bytes.data(), dtype_, converted, out + (i - first));
  }
}

void FeatureVectors::read_places(std::span<const int64_t> places, float* out) const {
  for (size_t begin = 0, end; begin < places.size(); begin = end) {
    for (end = begin + 1; end < places.size() && places[end] == places[end - 1] + 1;) ++end;
    read(places[begin], static_cast<int64_t>(end - begin), out + static_cast<int64_t>(begin) * dimensions_);
  }
}

float FeatureVectors::largest() const { return std::sqrt(std::numeric_limits<float>::max() / (4 * static_cast<float>(dimensions_))); }

// Before float64 was rounded to float32.
double FeatureVectors::written_value(int64_t element_index, float read) const {
  if (dtype_ != DType::kFloat64) return read;
  double value = 0;
  file_.read(start_ + static_cast<uint64_t>(element_index) * sizeof(double), &value, sizeof(double));
  return value;
}

std::optional<UnusableValue> FeatureVectors::first_unusable() const {
  const int64_t block = std::clamp<int64_t>(kBlockBytes / (dimensions_ * static_cast<int64_t>(sizeof(float))), 1, rows_);
  const float most = largest();
  std::vector<float> values(static_cast<size_t>(block * dimensions_));
  for (int64_t row = 0; row < rows_; row += block) {
    const int64_t count = std::min(block, rows_ - row);
    read(row, count, values.data());
    const auto end = values.begin() + count * dimensions_;
    const auto found = std::find_if(values.begin(), end, [most](float value) { return !(std::abs(value) <= most); });
    if (found == end) continue;
    const int64_t place = row * dimensions_ + (found - values.begin());
    return UnusableValue{place / dimensions_, place % dimensions_, written_value(place, *found)};
  }
  return std::nullopt;
}

void require_usable(const FeatureVectors& vectors) {
  const auto found = vectors.first_unusable();
  if (!found) return;
  if (!std::isfinite(found->value)) {
    throw data_error("{}: row {} (from 0) has {} in column {}; remove or repair the row", vectors.path(), found->row, found->value,
                     found->column);
  }
  throw data_error(
      "{}: row {} (from 0) has {:g} in column {}, too large for float32 (at most {:.1e}, for squared distances); scale the column",
      vectors.path(), found->row, found->value, found->column, vectors.largest());
}

RepeatedVectors repeated_vectors(const FeatureVectors& vectors) {
  constexpr int64_t kRowsRead = 1024;
  const auto D = static_cast<size_t>(vectors.dimensions());
  std::vector<float> block(D * static_cast<size_t>(std::min(kRowsRead, vectors.rows()))), earlier(D);
  std::unordered_map<size_t, int64_t> first;  // by the hash of a row's bytes
  RepeatedVectors found;
  for (int64_t begin = 0; begin < vectors.rows(); begin += kRowsRead) {
    const int64_t count = std::min(kRowsRead, vectors.rows() - begin);
    vectors.read(begin, count, block.data());
    for (int64_t i = 0; i < count; ++i) {
      const float* row = block.data() + static_cast<size_t>(i) * D;
      if (std::all_of(row, row + D, [](float value) { return value == 0; })) {
        found.zeros.push_back(begin + i);
        continue;
      }
      const std::string_view bytes(reinterpret_cast<const char*>(row), D * sizeof(float));
      const auto [entry, is_new] = first.emplace(std::hash<std::string_view>()(bytes), begin + i);
      if (is_new) continue;
      vectors.read(entry->second, 1, earlier.data());
      if (std::equal(row, row + D, earlier.data())) found.of_earlier.emplace_back(begin + i, entry->second);
    }
  }
  return found;
}

}  // namespace debias
