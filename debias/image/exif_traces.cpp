#include "debias/image/exif_traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "debias/image/exif_tag_names.h"
#include "debias/image/file_segments.h"

namespace debias {
namespace {

enum ExifType : uint16_t {
  kByte = 1,
  kAscii = 2,
  kShort = 3,
  kLong = 4,
  kRational = 5,
  kSignedByte = 6,
  kUndefined = 7,
  kSignedShort = 8,
  kSignedLong = 9,
  kSignedRational = 10,
  kFloat = 11,
  kDouble = 12
};

bool follows_from_pixels(const ExifEntry& entry) {
  constexpr std::array<uint16_t, 21> kTags = {
      0x0100, 0x0101,                          // width, height
      0x0111, 0x0116, 0x0117,                  // strips
      0x0118, 0x0119, 0x0120, 0x0121, 0x0140,  // range of the values, free space, colour map
      0x0142, 0x0143, 0x0144, 0x0145,          // tiles
      0x014a, 0x0154, 0x0155, 0x0201, 0x0202,  // other directories, range of the values, thumbnail
      0xa002, 0xa003,                          // width, height
  };
  constexpr uint16_t kInteroperability = 0xa005;  // a pointer
  return entry.part != ExifPart::kPosition && (std::ranges::find(kTags, entry.tag) != kTags.end() || entry.tag == kInteroperability);
}

template <class Signed>
double as_signed(uint64_t bits) {
  return static_cast<Signed>(bits);
}

// Of a value that begins at `at` of the entry's content; none for a fraction of zero.
std::optional<double> number_at(const ExifEntry& entry, ByteOrder order, size_t at) {
  const ExifBlock content{entry.content, order};
  const uint64_t bits = content.number(at, exif_type_size(entry.type));
  switch (entry.type) {
    case kRational:
    case kSignedRational: {
      const uint64_t above = content.number(at, 4), below = content.number(at + 4, 4);
      if (below == 0) return std::nullopt;
      if (entry.type == kRational) return static_cast<double>(above) / static_cast<double>(below);
      return as_signed<int32_t>(above) / as_signed<int32_t>(below);
    }
    case kSignedByte:
      return as_signed<int8_t>(bits);
    case kSignedShort:
      return as_signed<int16_t>(bits);
    case kSignedLong:
      return as_signed<int32_t>(bits);
    case kFloat:
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    case kDouble:
      return std::bit_cast<double>(bits);
    default:
      return static_cast<double>(bits);
  }
}

std::vector<double> numbers_of(const ExifEntry& entry, ByteOrder order) {
  constexpr size_t kMostNumbers = 8;
  const size_t size = exif_type_size(entry.type);
  std::vector<double> numbers;
  for (size_t at = 0; size > 0 && at + size <= entry.content.size() && numbers.size() < kMostNumbers; at += size) {
    if (const auto number = number_at(entry, order, at)) numbers.push_back(*number);
  }
  return numbers;
}

std::string joined(const std::vector<double>& numbers) {
  std::string text;
  for (const double number : numbers) text += fmt::format("{}{}", text.empty() ? "" : " ", number);
  return text;
}

std::string text_of(std::span<const uint8_t> content) {
  std::string text(content.begin(), std::find(content.begin(), content.end(), 0));
  text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

// Degrees, minutes and seconds, or hours.
std::optional<double> of_sixty_parts(const std::vector<double>& numbers) {
  if (numbers.empty()) return std::nullopt;
  double value = 0, unit = 1;
  for (const double number : numbers) {
    value += number * unit;
    unit /= 60;
  }
  return value;
}

std::string position_text(const ExifEntry& entry, const std::vector<ExifEntry>& entries, ByteOrder order) {
  constexpr uint16_t kLatitude = 0x02, kLongitude = 0x04, kAltitude = 0x06, kTime = 0x07, kToLatitude = 0x14, kToLongitude = 0x16;
  const bool of_degrees =
      entry.tag == kLatitude || entry.tag == kLongitude || entry.tag == kToLatitude || entry.tag == kToLongitude || entry.tag == kTime;
  const std::vector<double> numbers = numbers_of(entry, order);
  if (!of_degrees && entry.tag != kAltitude) return joined(numbers);
  auto value = of_sixty_parts(numbers);
  if (!value) return "";
  const auto reference = std::ranges::find_if(
      entries, [&](const ExifEntry& other) { return other.part == ExifPart::kPosition && other.tag + 1 == entry.tag; });
  const uint8_t side = reference == entries.end() || reference->content.empty() ? 0 : reference->content[0];
  const bool below = entry.tag == kAltitude ? side == 1 : side == 'S' || side == 'W';
  return fmt::format("{}", below ? -*value : *value);
}

void add_entry(const std::string& name, const ExifEntry& entry, const std::vector<ExifEntry>& entries, ByteOrder order,
               FileTraces& traces) {
  constexpr uint32_t kFewBytes = 4;
  if (entry.type == kAscii) return add_text_trace(name, text_of(entry.content), traces);
  const bool is_bytes = entry.type == kUndefined || (entry.type == kByte && entry.count > kFewBytes);
  if (is_bytes) return traces.push_back({name, trace_value(entry.content)});
  const std::string text = entry.part == ExifPart::kPosition ? position_text(entry, entries, order) : joined(numbers_of(entry, order));
  traces.push_back({name, text.substr(0, kLongestTrace)});
}

}  // namespace

void add_exif_traces(const std::string& prefix, const ExifBlock& block, FileTraces& traces) {
  if (block.bytes.empty()) return;
  std::vector<ExifEntry> entries;
  for_each_exif_entry(block, [&](const ExifEntry& entry) { entries.push_back(entry); });
  std::string tags = block.order == ByteOrder::kBig ? "MM" : "II";
  for (const ExifEntry& entry : entries) {
    tags += fmt::format(" {:x}:{}", entry.tag, entry.type);
    if (follows_from_pixels(entry)) continue;
    add_entry(fmt::format("{} {}", prefix, exif_tag_name(entry.part, entry.tag)), entry, entries, block.order, traces);
  }
  traces.push_back({prefix + " tags", tags, TraceKind::kOrder});
}

}  // namespace debias
