// safetensors files: an 8-byte little-endian header length, a JSON header, then the tensors' bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "debias/core/dtype.h"

namespace debias {

struct TensorEntry {
  std::string name;
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape;  // empty for a 0-d tensor
  uint64_t begin = 0;          // offsets into the data section
  uint64_t end = 0;
};

// A checked file. open() rejects, before anything is allocated from the header's claims: a header over 100 MB or beyond the file,
// malformed JSON or duplicate keys, unknown dtypes, shapes whose product overflows, sizes that disagree with the offsets, offsets that
// overlap, leave holes or do not end at the file's end. All are data errors naming the file and the fault.
class SafetensorsFile {
 public:
  static SafetensorsFile open(const std::string& path);

  const std::string& path() const { return path_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::vector<TensorEntry>& tensors() const { return tensors_; }  // in order of their offsets
  const TensorEntry* find(const std::string& name) const;
  uint64_t data_start() const { return data_start_; }  // of the data section, in bytes
  // Reads one tensor's bytes into `out`, which holds entry.end - entry.begin bytes.
  void read(const TensorEntry& entry, void* out) const;

 private:
  std::string path_;
  uint64_t data_start_ = 0;
  std::map<std::string, std::string> metadata_;
  std::vector<TensorEntry> tensors_;
};

struct TensorBytes {  // one tensor to write; the data must outlive the call
  std::string name;
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape;
  const void* data = nullptr;
};

// Writes atomically (atomic_file.h), tensors in the order given, the header padded so that data starts at a multiple of 8. When
// `with_checksum`, metadata gets "debias.sha256": SHA-256 over the whole file, its own 64 characters read as '0' (more in the .cpp), so
// that SafetensorsFile::open or verify_safetensors finds any flipped bit. Usage errors: tensor names that are taken twice or reserved.
void write_safetensors(const std::string& path, const std::vector<TensorBytes>& tensors, std::map<std::string, std::string> metadata,
                       bool with_checksum = true);

// True when the file carries a checksum and it holds, false when it carries none; a data error when it does not hold.
bool verify_safetensors(const SafetensorsFile& file);

}  // namespace debias
