#include "debias/core/safetensors_header.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "debias/core/dtype.h"
#include "debias/core/error.h"
#include "debias/core/printable.h"

namespace debias {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kMetadataName = "__metadata__";
constexpr size_t kMaxDimensions = 64;

constexpr std::array<std::pair<std::string_view, DType>, 13> kTypeNames = {{{"BOOL", DType::kBool},
                                                                            {"U8", DType::kUInt8},
                                                                            {"U16", DType::kUInt16},
                                                                            {"U32", DType::kUInt32},
                                                                            {"U64", DType::kUInt64},
                                                                            {"I8", DType::kInt8},
                                                                            {"I16", DType::kInt16},
                                                                            {"I32", DType::kInt32},
                                                                            {"I64", DType::kInt64},
                                                                            {"F16", DType::kFloat16},
                                                                            {"BF16", DType::kBFloat16},
                                                                            {"F32", DType::kFloat32},
                                                                            {"F64", DType::kFloat64}}};

// The header's grammar as a state machine over the parser's events: no JSON tree is built, and whatever the grammar does not allow (so
// any nesting, too) is rejected at its first byte.
class HeaderReader : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderReader(const std::string& path) : path_(path) {}

  SafetensorsHeader take() { return std::move(header_); }

  bool key(string_t& name) override {
    if (place_ == Place::kHeader) {
      name_ = name;
      if (!names_.insert(name_).second) refuse("{} appears twice in the header", printable(name_));
    } else if (place_ == Place::kMetadata) {
      key_ = name;
      if (header_.metadata.contains(key_)) refuse("metadata {} appears twice", printable(key_));
    } else {
      enter_field(name);
    }
    return true;
  }

  bool start_object(size_t) override {
    if (place_ == Place::kFile) {
      place_ = Place::kHeader;
    } else if (place_ != Place::kHeader) {
      unexpected();
    } else if (name_ == kMetadataName) {
      place_ = Place::kMetadata;
    } else {
      place_ = Place::kTensor;
      entry_ = TensorEntry{};
      entry_.name = name_;
      offsets_.clear();
      fields_seen_ = {};
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kTensor) finish_tensor();
    place_ = place_ == Place::kHeader ? Place::kFile : Place::kHeader;
    return true;
  }

  bool start_array(size_t) override {
    if (place_ != Place::kTensor || field_ == kDType) unexpected();
    place_ = field_ == kShape ? Place::kShape : Place::kOffsets;
    return true;
  }

  bool end_array() override {
    place_ = Place::kTensor;
    return true;
  }

  bool string(string_t& value) override {
    if (place_ == Place::kMetadata) {
      header_.metadata.emplace(key_, std::move(value));
    } else if (place_ == Place::kTensor && field_ == kDType) {
      const auto* known = std::find_if(kTypeNames.begin(), kTypeNames.end(), [&](const auto& entry) { return entry.first == value; });
      if (known == kTypeNames.end()) refuse("tensor {} has the unknown dtype {}", printable(name_), printable(value));
      entry_.dtype = known->second;
    } else {
      unexpected();
    }
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ == Place::kOffsets && offsets_.size() < 2) {
      offsets_.push_back(value);
    } else if (place_ == Place::kShape) {
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) refuse("an extent of tensor {} overflows", printable(name_));
      if (entry_.shape.size() == kMaxDimensions) refuse("tensor {} has more than {} dimensions", printable(name_), kMaxDimensions);
      entry_.shape.push_back(static_cast<int64_t>(value));
    } else {
      unexpected();
    }
    return true;
  }

  bool null() override { unexpected(); }
  bool boolean(bool) override { unexpected(); }
  bool number_integer(number_integer_t) override { unexpected(); }
  bool number_float(number_float_t, const string_t&) override { unexpected(); }
  bool binary(binary_t&) override { unexpected(); }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    refuse("its header is malformed JSON at byte {}", position);
  }

 private:
  enum class Place { kFile, kHeader, kMetadata, kTensor, kShape, kOffsets };
  enum Field { kDType, kShape, kOffsets };
  static constexpr std::array<std::string_view, 3> kFieldNames = {"dtype", "shape", "data_offsets"};

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> fault, Args&&... args) const {
    throw data_error("opening '{}': {}", path_, fmt::format(fault, std::forward<Args>(args)...));
  }

  [[noreturn]] void unexpected() const {
    switch (place_) {
      case Place::kFile:
        refuse("its header is not a JSON object");
      case Place::kHeader:
        refuse("{} is not a JSON object in its header", printable(name_));
      case Place::kMetadata:
        refuse("metadata {} is not text", printable(key_));
      case Place::kTensor:
      case Place::kShape:
      case Place::kOffsets:
        refuse("tensor {}: {}", printable(name_),
               field_ == kDType   ? "its dtype is not text"
               : field_ == kShape ? "its shape is not a list of whole numbers"
                                  : "its data_offsets are not two whole numbers");
    }
    refuse("its header is malformed");
  }

  void enter_field(const std::string& name) {
    const auto* known = std::find(kFieldNames.begin(), kFieldNames.end(), name);
    if (known == kFieldNames.end()) refuse("tensor {} has the unknown field {}", printable(name_), printable(name));
    field_ = static_cast<Field>(known - kFieldNames.begin());
    if (std::exchange(fields_seen_[field_], true)) refuse("tensor {} has two fields {}", printable(name_), name);
  }

  void finish_tensor() {
    for (size_t field = 0; field < kFieldNames.size(); ++field) {
      if (!fields_seen_[field]) refuse("tensor {} has no {}", printable(name_), kFieldNames[field]);
    }
    field_ = kOffsets;
    if (offsets_.size() != 2) unexpected();
    entry_.begin = offsets_[0];
    entry_.end = offsets_[1];
    if (entry_.begin > entry_.end) refuse("data_offsets of tensor {} run backwards: {} to {}", printable(name_), entry_.begin, entry_.end);
    const auto elements = checked_product(entry_.shape);
    const auto bytes = elements ? checked_multiply(*elements, static_cast<int64_t>(size_of(entry_.dtype))) : std::nullopt;
    if (!bytes) refuse("the shape of tensor {} overflows", printable(name_));
    if (static_cast<uint64_t>(*bytes) != entry_.end - entry_.begin) {
      refuse("tensor {}: shape and dtype ask for {} bytes, data_offsets give {}", printable(name_), *bytes, entry_.end - entry_.begin);
    }
    header_.tensors.push_back(std::move(entry_));
  }

  const std::string& path_;
  SafetensorsHeader header_;
  std::set<std::string> names_;
  Place place_ = Place::kFile;
  std::string name_, key_;  // of the current entry of the header and of the metadata
  Field field_ = kDType;
  std::array<bool, kFieldNames.size()> fields_seen_{};
  TensorEntry entry_;
  std::vector<uint64_t> offsets_;
};

void check_that_offsets_tile(const std::vector<TensorEntry>& tensors, uint64_t data_bytes, const std::string& path) {
  uint64_t at = 0;
  for (const auto& entry : tensors) {
    if (entry.begin != at) {
      throw data_error("opening '{}': tensor {} begins at byte {} of the data, {} was expected: offsets {}", path, printable(entry.name),
                       entry.begin, at, entry.begin < at ? "overlap" : "leave a hole");
    }
    at = entry.end;
  }
  if (at != data_bytes) {
    throw data_error("opening '{}': its tensors end at byte {} of the data, the file at {}: it {}", path, at, data_bytes,
                     data_bytes < at ? "is cut" : "has a tail");
  }
}

}  // namespace

SafetensorsHeader parse_safetensors_header(const std::string& text, uint64_t data_bytes, const std::string& path) {
  if (!text.starts_with('{')) throw data_error("opening '{}': its header does not begin with '{{'; is it a safetensors file?", path);
  if (const size_t zero = text.find('\0'); zero != std::string::npos) {  // where the JSON parser would stop reading
    throw data_error("opening '{}': its header is malformed JSON at byte {}", path, zero + 1);
  }
  HeaderReader reader(path);
  Json::sax_parse(text, &reader);
  SafetensorsHeader header = reader.take();
  std::stable_sort(header.tensors.begin(), header.tensors.end(),
                   [](const TensorEntry& a, const TensorEntry& b) { return std::tie(a.begin, a.end) < std::tie(b.begin, b.end); });
  check_that_offsets_tile(header.tensors, data_bytes, path);
  return header;
}

std::string safetensors_header_text(const SafetensorsHeader& header, const std::string& path) {
  const auto check_size = [&](size_t bytes) {
    if (bytes > kMaxSafetensorsHeader) {
      throw usage_error("writing '{}': its header would have at least {} bytes, at most {} are allowed", path, bytes,
                        kMaxSafetensorsHeader);
    }
  };
  const auto text_of = [&](std::string_view text) {
    check_size(text.size());
    try {
      return Json(text).dump();
    } catch (const Json::exception&) {
      throw usage_error("writing '{}': {} is not UTF-8", path, printable(text));
    }
  };
  std::string text = "{";
  const auto add = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{}{}:{}", text.ends_with('{') ? "" : ",", text_of(name), value);
  };
  if (!header.metadata.empty()) {
    text += text_of(kMetadataName) + ":{";
    for (const auto& [key, value] : header.metadata) add(key, text_of(value));
    text += '}';
  }
  std::set<std::string_view> names = {kMetadataName};
  for (const auto& entry : header.tensors) {
    if (!names.insert(entry.name).second) throw usage_error("writing '{}': the tensor name {} is taken", path, printable(entry.name));
    const auto* type = std::find_if(kTypeNames.begin(), kTypeNames.end(), [&](const auto& known) { return known.second == entry.dtype; });
    const Json shape = entry.shape;
    add(entry.name,
        fmt::format(R"({{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})", type->first, shape.dump(), entry.begin, entry.end));
  }
  text += '}';
  text.resize((text.size() + 7) / 8 * 8, ' ');
  check_size(text.size());
  return text;
}

}  // namespace debias
