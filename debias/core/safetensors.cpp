#include "debias/core/safetensors.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include <nlohmann/json.hpp>

#include "debias/core/atomic_file.h"
#include "debias/core/checked_math.h"
#include "debias/core/error.h"
#include "debias/core/sha256.h"

namespace debias {
namespace {

constexpr uint64_t kMaxHeader = 100'000'000;  // the reference implementation's limit
constexpr int kMaxDepth = 4;
constexpr const char* kChecksumKey = "debias.sha256";

const std::vector<std::pair<std::string, DType>>& dtype_names() {
  static const std::vector<std::pair<std::string, DType>> names = {
      {"BOOL", DType::kBool}, {"U8", DType::kUInt8},    {"I8", DType::kInt8},       {"I16", DType::kInt16},   {"I32", DType::kInt32},
      {"I64", DType::kInt64}, {"F16", DType::kFloat16}, {"BF16", DType::kBFloat16}, {"F32", DType::kFloat32}, {"F64", DType::kFloat64}};
  return names;
}

std::string dtype_name(DType dtype) {
  for (const auto& [name, candidate] : dtype_names()) {
    if (candidate == dtype) return name;
  }
  return "?";
}

// Builds the document itself, so that a duplicate key or hostile nesting is seen before anything is stored.
class HeaderParser : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderParser(const std::string& text) {
    if (!nlohmann::json::sax_parse(text, this) && fault_.empty()) fault_ = "its header is not valid JSON";
  }
  const std::string& fault() const { return fault_; }
  const nlohmann::json& document() const { return root_; }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(value); }
  bool binary(binary_t&) override { return stop("its header is not valid JSON"); }
  bool start_object(std::size_t) override { return open(nlohmann::json::object()); }
  bool start_array(std::size_t) override { return open(nlohmann::json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (stack_.back()->contains(name)) return stop(fmt::format("key '{}' stands twice in its header", name));
    key_ = name;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return stop("its header is not valid JSON");
  }

 private:
  bool stop(const std::string& fault) {
    if (fault_.empty()) fault_ = fault;
    return false;
  }
  nlohmann::json* place(nlohmann::json value) {
    if (stack_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (stack_.back()->is_array()) {
      stack_.back()->push_back(std::move(value));
      return &stack_.back()->back();
    }
    return &((*stack_.back())[key_] = std::move(value));
  }
  bool put(nlohmann::json value) {
    place(std::move(value));
    return true;
  }
  bool open(nlohmann::json value) {
    if (stack_.size() >= kMaxDepth) return stop("its header is nested too deeply");
    stack_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    stack_.pop_back();
    return true;
  }

  nlohmann::json root_;
  std::vector<nlohmann::json*> stack_;
  std::string key_, fault_;
};

[[noreturn]] void refuse(const std::string& path, const std::string& fault) { throw data_error("opening '{}': {}", path, fault); }

TensorEntry read_entry(const std::string& path, const std::string& name, const nlohmann::json& json) {
  const auto wrong = [&](const char* what) { refuse(path, fmt::format("tensor '{}' has {}", name, what)); };
  if (!json.is_object() || json.size() != 3 || !json.contains("dtype") || !json.contains("shape") || !json.contains("data_offsets")) {
    wrong("not exactly dtype, shape and data_offsets");
  }
  TensorEntry entry;
  entry.name = name;
  bool known = false;
  for (const auto& [text, dtype] : dtype_names()) {
    if (json["dtype"] == text) {
      entry.dtype = dtype;
      known = true;
    }
  }
  if (!known) wrong("an unknown dtype");
  const auto& shape = json["shape"];
  if (!shape.is_array() || shape.size() > 64) wrong("a shape that is no list of at most 64 extents");
  for (const auto& extent : shape) {
    if (!extent.is_number_unsigned() || extent.get<uint64_t>() > INT64_MAX) wrong("an extent that is no whole number");
    entry.shape.push_back(extent.get<int64_t>());
  }
  const auto& offsets = json["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() || !offsets[1].is_number_unsigned()) {
    wrong("data_offsets that are not two whole numbers");
  }
  entry.begin = offsets[0].get<uint64_t>();
  entry.end = offsets[1].get<uint64_t>();
  if (entry.end < entry.begin) wrong("data_offsets that run backwards");
  const auto count = checked_product(entry.shape);
  const auto bytes = count ? checked_multiply(*count, static_cast<int64_t>(size_of(entry.dtype))) : std::nullopt;
  if (!bytes) wrong("a shape whose size overflows");
  if (static_cast<uint64_t>(*bytes) != entry.end - entry.begin) wrong("a shape and dtype that do not match its data_offsets");
  return entry;
}

std::string header_text(const std::vector<TensorEntry>& tensors, const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header;
  if (!metadata.empty()) header["__metadata__"] = metadata;
  for (const auto& entry : tensors) {
    header[entry.name] = {{"dtype", dtype_name(entry.dtype)}, {"shape", entry.shape}, {"data_offsets", {entry.begin, entry.end}}};
  }
  if (header.is_null()) header = nlohmann::ordered_json::object();
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

std::string length_prefix(uint64_t length) {
  std::string text;
  for (int i = 0; i < 8; ++i) text.push_back(static_cast<char>(length >> (8 * i)));
  return text;
}

// The checksum covers the header as it stands in the file, its own value replaced by 64 zeros, and every byte of data.
std::string checksum(const std::string& header, const std::string& own, const auto& each_piece) {
  std::string neutral = header;
  const size_t at = neutral.find(std::string(kChecksumKey) + "\":\"" + own);
  if (at != std::string::npos) neutral.replace(at + std::strlen(kChecksumKey) + 3, own.size(), own.size(), '0');
  Sha256 hash;
  const std::string prefix = length_prefix(header.size());
  hash.update(prefix.data(), prefix.size());
  hash.update(neutral.data(), neutral.size());
  each_piece(hash);
  return hash.hex();
}

std::string read_header(std::ifstream& file, const std::string& path, uint64_t size) {
  unsigned char prefix[8];
  if (size < 8 || !file.read(reinterpret_cast<char*>(prefix), 8)) refuse(path, "it is shorter than 8 bytes, so no safetensors file");
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = (length << 8) | prefix[i];
  if (length > kMaxHeader) refuse(path, fmt::format("its header claims {} bytes, more than the {} allowed", length, kMaxHeader));
  if (length > size - 8) refuse(path, fmt::format("its header claims {} bytes, the file has {} left: it is cut or no safetensors file", length, size - 8));
  std::string text(length, '\0');
  if (!file.read(text.data(), static_cast<std::streamsize>(length))) refuse(path, "its header cannot be read");
  return text;
}

}  // namespace

SafetensorsFile SafetensorsFile::open(const std::string& path) {
  std::error_code code;
  if (!std::filesystem::is_regular_file(path, code)) refuse(path, "no such file");
  const uint64_t size = std::filesystem::file_size(path, code);
  std::ifstream stream(path, std::ios::binary);
  if (code || !stream) refuse(path, "it cannot be read");
  const std::string text = read_header(stream, path, size);
  if (text.empty() || text[0] != '{') refuse(path, "its header does not begin with '{'");
  const HeaderParser parser(text);
  if (!parser.fault().empty()) refuse(path, parser.fault());
  SafetensorsFile file;
  file.path_ = path;
  file.data_start_ = 8 + text.size();
  for (const auto& [name, json] : parser.document().items()) {
    if (name != "__metadata__") {
      file.tensors_.push_back(read_entry(path, name, json));
      continue;
    }
    if (!json.is_object()) refuse(path, "its __metadata__ is no map of texts");
    for (const auto& [key, value] : json.items()) {
      if (!value.is_string()) refuse(path, fmt::format("metadata '{}' is no text", key));
      file.metadata_[key] = value.get<std::string>();
    }
  }
  std::sort(file.tensors_.begin(), file.tensors_.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  uint64_t at = 0;
  for (const auto& entry : file.tensors_) {
    if (entry.begin != at) refuse(path, fmt::format("tensor '{}' begins at {}, not at {}: offsets overlap or leave a hole", entry.name, entry.begin, at));
    at = entry.end;
  }
  if (at != size - file.data_start_) {
    refuse(path, fmt::format("its tensors end at byte {}, its data at {}: it is cut or has a tail", at, size - file.data_start_));
  }
  return file;
}

const TensorEntry* SafetensorsFile::find(const std::string& name) const {
  for (const auto& entry : tensors_) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

void SafetensorsFile::read(const TensorEntry& entry, void* out) const {
  std::ifstream file(path_, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(data_start_ + entry.begin));
  if (!file.read(static_cast<char*>(out), static_cast<std::streamsize>(entry.end - entry.begin))) {
    throw data_error("reading tensor '{}' of '{}': the file was cut since it was opened", entry.name, path_);
  }
}

void write_safetensors(const std::string& path, const std::vector<TensorBytes>& tensors, std::map<std::string, std::string> metadata,
                       bool with_checksum) {
  std::vector<TensorEntry> entries;
  std::set<std::string> names = {"__metadata__"};
  uint64_t at = 0;
  for (const auto& tensor : tensors) {
    const auto count = checked_product(tensor.shape);
    const auto bytes = count ? checked_multiply(*count, static_cast<int64_t>(size_of(tensor.dtype))) : std::nullopt;
    if (!bytes) throw usage_error("writing '{}': tensor '{}' has a shape whose size overflows", path, tensor.name);
    if (!names.insert(tensor.name).second) throw usage_error("writing '{}': tensor name '{}' stands twice", path, tensor.name);
    entries.push_back({tensor.name, tensor.dtype, tensor.shape, at, at + static_cast<uint64_t>(*bytes)});
    at = entries.back().end;
  }
  if (with_checksum) metadata[kChecksumKey] = std::string(64, '0');
  std::string header = header_text(entries, metadata);
  if (with_checksum) {
    const std::string hex = checksum(header, std::string(64, '0'), [&](Sha256& hash) {
      for (size_t i = 0; i < tensors.size(); ++i) hash.update(tensors[i].data, entries[i].end - entries[i].begin);
    });
    metadata[kChecksumKey] = hex;
    header = header_text(entries, metadata);
  }
  AtomicFile file(path);
  const std::string prefix = length_prefix(header.size());
  file.write(prefix.data(), prefix.size());
  file.write(header.data(), header.size());
  for (size_t i = 0; i < tensors.size(); ++i) file.write(tensors[i].data, entries[i].end - entries[i].begin);
  file.commit();
}

bool verify_safetensors(const SafetensorsFile& file) {
  const auto found = file.metadata().find(kChecksumKey);
  if (found == file.metadata().end()) return false;
  std::error_code code;
  const uint64_t size = std::filesystem::file_size(file.path(), code);
  std::ifstream stream(file.path(), std::ios::binary);
  const std::string header = read_header(stream, file.path(), code ? 0 : size);
  const std::string hex = checksum(header, found->second, [&](Sha256& hash) {
    std::vector<char> piece(1 << 20);
    while (stream.read(piece.data(), static_cast<std::streamsize>(piece.size())) || stream.gcount() > 0) {
      hash.update(piece.data(), static_cast<size_t>(stream.gcount()));
    }
  });
  if (hex != found->second) refuse(file.path(), "its checksum does not hold: bytes were changed or lost");
  return true;
}

}  // namespace debias
