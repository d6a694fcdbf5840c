// The checksum is SHA-256 over the whole file (length prefix, header as it stands, data), in which the 64 characters of the checksum
// itself are read as '0'. Taking the header's text rather than its meaning also finds changes that JSON ignores, such as \u001f
// and \u001F. One damaged byte of the checksum's key would make it any other metadata: verify_safetensors rejects such near misses.
#include "debias/core/safetensors.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string_view>

#include "debias/core/atomic_file.h"
#include "debias/core/dtype.h"
#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/core/printable.h"
#include "debias/core/safetensors_header.h"
#include "debias/core/sha256.h"

namespace debias {
namespace {

constexpr uint64_t kPrefixBytes = 8;
constexpr std::string_view kChecksumKey = "debias.sha256";
const std::string kNoChecksum(64, '0');

std::string length_prefix(const std::string& header) {
  std::string prefix;
  for (int i = 0; i < 8; ++i) prefix.push_back(static_cast<char>(header.size() >> (8 * i) & 0xff));
  return prefix;
}

// Names the kind of another file, if it is known.
Error no_safetensors(const InputFile& file, const std::string& found) {
  const ForeignFile foreign = foreign_file(file);
  if (foreign.what.empty()) return data_error("opening '{}': {}", file.path(), found);
  return data_error("opening '{}': it is {}, not a safetensors file; {}", file.path(), foreign.what, foreign.advice);
}

std::string read_header(const InputFile& file) {
  if (file.size() < kPrefixBytes) {
    throw data_error("opening '{}': it has {} bytes, too few for a safetensors file", file.path(), file.size());
  }
  unsigned char prefix[kPrefixBytes];
  file.read(0, prefix, sizeof prefix);
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | prefix[i];
  if (length > kMaxSafetensorsHeader) {
    throw no_safetensors(
        file, fmt::format("its header claims {} bytes, at most {} are allowed; is it a safetensors file?", length, kMaxSafetensorsHeader));
  }
  if (length > file.size() - kPrefixBytes) {
    throw no_safetensors(file, fmt::format("its header claims {} bytes, {} are left: it is cut", length, file.size() - kPrefixBytes));
  }
  std::string header(length, '\0');
  file.read(kPrefixBytes, header.data(), length);
  return header;
}

// Position of the checksum's characters in the header's text. The key may also occur inside of other texts, but there JSON escapes its
// first quote.
size_t checksum_position(const std::string& header, const std::string& checksum) {
  const std::string before = fmt::format("\"{}\":\"", kChecksumKey);
  size_t at = header.find(before + checksum + '"');
  while (at != std::string::npos && at > 0 && header[at - 1] == '\\') at = header.find(before + checksum + '"', at + 1);
  return at == std::string::npos ? at : at + before.size();
}

bool is_near_miss(const std::string& key) {
  if (key.size() != kChecksumKey.size()) return false;
  return std::inner_product(key.begin(), key.end(), kChecksumKey.begin(), 0, std::plus<>(), std::not_equal_to<>()) == 1;
}

}  // namespace

SafetensorsFile SafetensorsFile::open(const std::string& path) {
  const InputFile input(path);
  const std::string text = read_header(input);
  SafetensorsFile file;
  file.path_ = path;
  file.data_start_ = kPrefixBytes + text.size();
  SafetensorsHeader header = parse_safetensors_header(text, input.size() - file.data_start_, path);
  file.metadata_ = std::move(header.metadata);
  file.tensors_ = std::move(header.tensors);
  return file;
}

const TensorEntry* SafetensorsFile::find(const std::string& name) const {
  const auto found = std::find_if(tensors_.begin(), tensors_.end(), [&](const TensorEntry& entry) { return entry.name == name; });
  return found == tensors_.end() ? nullptr : &*found;
}

void SafetensorsFile::read(const TensorEntry& entry, void* out) const {
  InputFile(path_).read(data_start_ + entry.begin, out, entry.end - entry.begin);
}

void write_safetensors(const std::string& path, const std::vector<TensorBytes>& tensors, std::map<std::string, std::string> metadata,
                       bool with_checksum) {
  SafetensorsHeader header;
  header.metadata = std::move(metadata);
  header.metadata.erase(std::string(kChecksumKey));  // of the file that the metadata was read from
  uint64_t at = 0;
  for (const auto& tensor : tensors) {
    const auto elements = checked_product(tensor.shape);
    const auto bytes = elements ? checked_multiply(*elements, static_cast<int64_t>(size_of(tensor.dtype))) : std::nullopt;
    if (!bytes) throw usage_error("writing '{}': the shape of tensor {} overflows", path, printable(tensor.name));
    header.tensors.push_back({tensor.name, tensor.dtype, tensor.shape, at, at + static_cast<uint64_t>(*bytes)});
    at += static_cast<uint64_t>(*bytes);
  }
  if (with_checksum) header.metadata[std::string(kChecksumKey)] = kNoChecksum;
  std::string text = safetensors_header_text(header, path);
  const auto each_piece = [&](const auto& take) {
    const std::string prefix = length_prefix(text);
    take(prefix.data(), prefix.size());
    take(text.data(), text.size());
    for (size_t i = 0; i < tensors.size(); ++i) take(tensors[i].data, header.tensors[i].end - header.tensors[i].begin);
  };
  if (with_checksum) {
    Sha256 hash;
    each_piece([&](const void* data, size_t size) { hash.update(data, size); });
    text.replace(checksum_position(text, kNoChecksum), kNoChecksum.size(), hash.hex());
  }
  uint64_t bytes = 0;
  each_piece([&](const void*, size_t more) { bytes += more; });
  AtomicFile file(path, bytes);
  each_piece([&](const void* data, size_t size) { file.write(data, size); });
  file.commit();
}

bool verify_safetensors(const SafetensorsFile& file) {
  const auto found = file.metadata().find(std::string(kChecksumKey));
  if (found == file.metadata().end()) {
    for (const auto& [key, value] : file.metadata()) {
      if (is_near_miss(key)) throw data_error("verifying '{}': the name of its checksum is damaged: {}", file.path(), printable(key));
    }
    return false;
  }
  const std::string& expected = found->second;
  const InputFile input(file.path());
  std::string header = read_header(input);
  const size_t position = checksum_position(header, expected);
  if (expected.size() != kNoChecksum.size() || position == std::string::npos) {
    throw data_error("verifying '{}': its checksum is malformed: {}", file.path(), printable(expected));
  }
  header.replace(position, expected.size(), kNoChecksum);
  Sha256 hash;
  hash.update(length_prefix(header).data(), kPrefixBytes);
  hash.update(header.data(), header.size());
  std::vector<char> piece(1 << 20);
  for (uint64_t at = kPrefixBytes + header.size(); at < input.size(); at += piece.size()) {
    if (input.size() - at < piece.size()) piece.resize(input.size() - at);
    input.read(at, piece.data(), piece.size());
    hash.update(piece.data(), piece.size());
  }
  if (const std::string actual = hash.hex(); actual != expected) {
    throw data_error("verifying '{}': its checksum does not match (written {}, found {}): bytes were changed; take another copy",
                     file.path(), expected, actual);
  }
  return true;
}

}  // namespace debias
