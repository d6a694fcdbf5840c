#include "debias/data/image_records.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "debias/core/error.h"

namespace debias {
namespace {

constexpr int kGzip = 15 + 16;  // zlib's window bits, with gzip's header

std::string_view take_word(std::string_view& text) {
  const size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

int64_t take_number(std::string_view& text) {
  const std::string_view word = take_word(text);
  int64_t value = -1;
  std::from_chars(word.data(), word.data() + word.size(), value);
  return value;
}

ImageRecord record_of(std::string_view text) {
  ImageRecord record;
  for (int64_t* field : {&record.id, &record.label, &record.bias, &record.bytes, &record.time}) *field = take_number(text);
  record.hash = take_word(text);
  record.source = text;
  return record;
}

Bytef* bytes_of(const char* text) { return reinterpret_cast<Bytef*>(const_cast<char*>(text)); }

}  // namespace

void append_record(std::string& listing, const ImageRecord& record) {
  fmt::format_to(std::back_inserter(listing), "{} {} {} {} {} {} {}", record.id, record.label, record.bias, record.bytes, record.time,
                 record.hash, record.source);
  listing += '\0';
}

std::vector<ImageRecord> records_of(std::string_view listing) {
  std::vector<ImageRecord> records;
  while (!listing.empty()) {
    const size_t end = std::min(listing.find('\0'), listing.size());
    records.push_back(record_of(listing.substr(0, end)));
    listing.remove_prefix(std::min(end + 1, listing.size()));
  }
  return records;
}

std::string packed(std::string_view listing) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK) throw resource_error("zlib: no memory");
  std::string bytes(deflateBound(&stream, listing.size()), '\0');
  stream.next_in = bytes_of(listing.data());
  stream.avail_in = static_cast<uInt>(listing.size());
  stream.next_out = bytes_of(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  const int code = deflate(&stream, Z_FINISH);
  bytes.resize(stream.total_out);
  deflateEnd(&stream);
  if (code != Z_STREAM_END) throw resource_error("packing the list of images: {} bytes are too many", listing.size());
  return bytes;
}

std::string unpacked(std::string_view bytes, size_t limit) {
  z_stream stream{};
  if (inflateInit2(&stream, kGzip) != Z_OK) throw resource_error("zlib: no memory");
  stream.next_in = bytes_of(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string listing;
  int code = Z_OK;
  while (code == Z_OK && listing.size() <= limit) {
    char block[1 << 16];
    stream.next_out = bytes_of(block);
    stream.avail_out = sizeof block;
    code = inflate(&stream, Z_NO_FLUSH);
    listing.append(block, sizeof block - stream.avail_out);
  }
  inflateEnd(&stream);
  return code == Z_STREAM_END && listing.size() <= limit ? listing : "";
}

}  // namespace debias
