// Tiny data sets made in a temporary folder.
#pragma once

#include <turbojpeg.h>
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/input_file.h"
#include "debias/data/dataset_registry.h"
#include "debias/image/image.h"
#include "debias/image/image_encode.h"
#include "tests/support/temporary_folder.h"

namespace debias::fixture {

using Bytes = std::vector<uint8_t>;
using debias::TemporaryFolder;

inline void write(const std::string& path, const Bytes& bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}
inline void write(const std::string& path, const std::string& text) { write(path, Bytes(text.begin(), text.end())); }

// Their bytes by their path below the folder.
inline std::map<std::string, Bytes> files_below(const std::string& folder) {
  std::map<std::string, Bytes> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    files[std::filesystem::relative(entry.path(), folder).generic_string()] = read_file_bytes(entry.path().string());
  }
  return files;
}

inline Bytes gzip(const Bytes& bytes) {
  Bytes out(compressBound(bytes.size()) + 64);
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline Bytes idx(const std::vector<uint32_t>& shape, const Bytes& values, uint32_t magic = 0) {
  Bytes bytes;
  const auto put = [&](uint32_t word) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<uint8_t>(word >> shift));
  };
  put(magic != 0 ? magic : 0x800 | static_cast<uint32_t>(shape.size()));
  for (uint32_t extent : shape) put(extent);
  bytes.insert(bytes.end(), values.begin(), values.end());
  return bytes;
}

inline Bytes ramp(size_t count, int step = 7) {
  Bytes bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(i * static_cast<size_t>(step));
  return bytes;
}

// 0, 1, ..., classes - 1, 0, 1, ...
inline Bytes cyclic_labels(size_t count, int classes = 10) {
  Bytes labels(count);
  for (size_t i = 0; i < count; ++i) labels[i] = static_cast<uint8_t>(i % static_cast<size_t>(classes));
  return labels;
}

inline void write_mnist(const std::string& root, uint32_t train, uint32_t test) {
  for (const auto& [prefix, count] : {std::pair{std::string("train"), train}, std::pair{std::string("t10k"), test}}) {
    write(root + "/" + prefix + "-images-idx3-ubyte", idx({count, 28, 28}, ramp(size_t{count} * 784)));
    write(root + "/" + prefix + "-labels-idx1-ubyte", idx({count}, cyclic_labels(count)));
  }
}

inline Bytes cifar_record(const Bytes& labels, uint8_t red, uint8_t green, uint8_t blue) {
  Bytes record = labels;
  for (uint8_t value : {red, green, blue}) record.insert(record.end(), 1024, value);
  return record;
}

inline Bytes cifar10_file(int records, int first = 0) {
  Bytes bytes;
  for (int i = first; i < first + records; ++i) {
    const Bytes record = cifar_record({static_cast<uint8_t>(i % 10)}, static_cast<uint8_t>(i), 20, 30);
    bytes.insert(bytes.end(), record.begin(), record.end());
  }
  return bytes;
}

inline Image solid(int height, int width, uint8_t red, uint8_t green, uint8_t blue) {
  Image image;
  image.height = height;
  image.width = width;
  for (int i = 0; i < height * width; ++i) image.pixels.insert(image.pixels.end(), {red, green, blue});
  return image;
}

// JPEG of RGB (format TJPF_RGB) or CMYK pixels.
inline Bytes jpeg(const Bytes& pixels, int height, int width, int format = TJPF_RGB, int subsampling = TJSAMP_444, int quality = 100) {
  tjhandle handle = tjInitCompress();
  unsigned char* out = nullptr;
  unsigned long size = 0;
  tjCompress2(handle, pixels.data(), width, 0, height, format, &out, &size, subsampling, quality, TJFLAG_ACCURATEDCT);
  Bytes bytes(out, out + size);
  tjFree(out);
  tjDestroy(handle);
  return bytes;
}
inline Bytes jpeg(const Image& image) { return jpeg(image.pixels, image.height, image.width); }

inline std::unique_ptr<const Dataset> make(const std::string& yaml) { return read_data(parse_yaml(yaml, "r.yaml")).make_images(); }

}  // namespace debias::fixture
