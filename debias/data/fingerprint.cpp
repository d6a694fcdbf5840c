#include "debias/data/fingerprint.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>

#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/core/sha256.h"
#include "debias/data/dataset_registry.h"
#include "debias/data/parallel_blocks.h"

namespace debias {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kListedBlock = 256;       // images a thread takes at once
constexpr size_t kLongestRecord = 1 << 13;  // bytes; a path has at most 4096
constexpr int64_t kMostImages = int64_t{1} << 31;

template <class Bytes>
std::string sha256_of(const Bytes& bytes) {
  Sha256 hash;
  hash.update(bytes.data(), bytes.size());
  return hash.hex();
}

template <class Bytes>
std::string short_hash(const Bytes& bytes) {
  return sha256_of(bytes).substr(0, 16);
}

Json options_of(const ChosenData& data) {
  Config options = data.section;
  for (const OptionSpec& spec : data.entry->options) {
    if (options.find(spec.name) == nullptr) options.set(spec.name, spec.default_value);
  }
  for (const char* recorded_otherwise : {"name", "root", "labels", "classes", "vocabulary", "cache"}) options.erase(recorded_otherwise);
  return options.to_json();
}

template <class Read>
std::string hash_or_unreadable(const Read& read) {
  try {
    return short_hash(read());
  } catch (const Error&) {
    return "unreadable";
  }
}

struct FileLook {
  bool found = false;
  int64_t bytes = -1, time = -1;
  std::string hash = "-";
};

FileLook look_at(const std::string& path, Verify verify) {
  FileLook look;
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return look;
  look.found = true;
  look.bytes = status.st_size;
  look.time = int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  if (verify == Verify::kContents) look.hash = hash_or_unreadable([&] { return read_file_bytes(path); });
  return look;
}

ImageRecord record_of(const FileLook& look, const std::string& source) {
  ImageRecord record;
  record.bytes = look.bytes;
  record.time = look.time;
  record.hash = look.hash;
  record.source = source;
  return record;
}

std::string record_text(const Dataset& dataset, const std::string& root, int64_t index, Verify verify) {
  const std::string source = dataset.source(index);
  FileLook look = root.empty() ? FileLook() : look_at((std::filesystem::path(root) / source).string(), verify);
  if (!look.found && !root.empty()) look.hash = hash_or_unreadable([&] { return dataset.get(index).image.pixels; });
  ImageRecord record = record_of(look, source);
  record.id = dataset.id(index);
  record.label = dataset.label(index);
  record.bias = dataset.bias(index);
  std::string text;
  append_record(text, record);
  return text;
}

std::string listing_of_files(const std::vector<std::string>& files, const std::string& root, Verify verify) {
  std::error_code ignored;
  const bool is_file = std::filesystem::is_regular_file(root, ignored);
  std::string listing;
  for (size_t i = 0; i < files.size(); ++i) {
    const FileLook look = look_at(is_file ? root : (std::filesystem::path(root) / files[i]).string(), verify);
    ImageRecord record = record_of(look, files[i]);
    record.id = static_cast<int64_t>(i);
    append_record(listing, record);
  }
  return listing;
}

std::string listing_of(const Dataset& dataset, const std::string& root, Verify verify, Progress& progress) {
  std::vector<std::string> blocks(static_cast<size_t>((dataset.size() + kListedBlock - 1) / kListedBlock));
  const auto list_block = [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) blocks[static_cast<size_t>(first / kListedBlock)] += record_text(dataset, root, i, verify);
  };
  progress.begin("looking at " + dataset.info().name, dataset.size());
  for_each_block(dataset.size(), kListedBlock, list_block, [&](int64_t images) { progress.advance(images, ""); });
  progress.end();
  std::string listing;
  for (const std::string& block : blocks) listing += block;
  return listing;
}

void hash_listing(DataFingerprint& result) {
  Sha256 images, contents;
  for (ImageRecord record : records_of(result.listing)) {
    const bool of_file = record.bytes >= 0;
    contents.update(record.hash.data(), record.hash.size());
    if (of_file) record.hash = "-";
    record.time = -1;
    std::string text;
    append_record(text, record);
    images.update(text.data(), text.size());
  }
  result.images = images.hex();
  if (result.verify == Verify::kContents) result.contents = contents.hex();
  result.listing_hash = sha256_of(result.listing);
}

}  // namespace

DataFingerprint fingerprint(const SampleTable& samples, const ChosenData& data, Verify verify, Progress& progress) {
  DataFingerprint result;
  result.name = samples.info().name;
  result.split = samples.info().split;
  result.count = samples.size();
  result.classes = samples.info().class_names;
  result.biases = samples.info().bias_names;
  result.verify = verify;
  result.options = options_of(data);
  if (!data.label_file.empty()) result.labels = sha256_of(read_file_bytes(data.label_file));
  const std::vector<std::string> files = samples.files();
  result.listing = files.empty() ? listing_of(*samples.images(), data.root, verify, progress) : listing_of_files(files, data.root, verify);
  hash_listing(result);
  return result;
}

Json to_json(const DataFingerprint& fingerprint) {
  return {{"name", fingerprint.name},         {"split", fingerprint.split},         {"count", fingerprint.count},
          {"classes", fingerprint.classes},   {"biases", fingerprint.biases},       {"verify", enum_name(fingerprint.verify)},
          {"options", fingerprint.options},   {"labels", fingerprint.labels},       {"images", fingerprint.images},
          {"contents", fingerprint.contents}, {"listing", fingerprint.listing_hash}};
}

DataFingerprint fingerprint_from_json(const Json& json) {
  DataFingerprint result;
  try {
    result.name = json.at("name").get<std::string>();
    result.split = json.at("split").get<std::string>();
    result.count = json.at("count").get<int64_t>();
    result.classes = json.at("classes").get<std::vector<std::string>>();
    result.biases = json.at("biases").get<std::vector<std::string>>();
    const Config verify = Config::string(json.at("verify").get<std::string>());
    result.verify = read_value<Verify>(verify, "verify");
    result.options = json.at("options");
    result.labels = json.at("labels").get<std::string>();
    result.images = json.at("images").get<std::string>();
    result.contents = json.at("contents").get<std::string>();
    result.listing_hash = json.at("listing").get<std::string>();
  } catch (const std::exception& error) {
    throw data_error("fingerprint of a data set: {}", without_control_characters(error.what()));
  }
  if (result.count < 0 || !result.options.is_object()) throw data_error("fingerprint of a data set: count or options are damaged");
  return result;
}

void write_listing(const DataFingerprint& fingerprint, const std::string& path) {
  write_file_atomically(path, packed(fingerprint.listing));
}

bool read_listing(DataFingerprint& fingerprint, const std::string& path) {
  try {
    const std::vector<uint8_t> bytes = read_file_bytes(path);
    const auto limit = static_cast<size_t>(std::min(fingerprint.count, kMostImages)) * kLongestRecord;
    std::string listing = unpacked({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, limit);
    if (sha256_of(listing) != fingerprint.listing_hash) return false;
    fingerprint.listing = std::move(listing);
    return true;
  } catch (const FileError&) {
    return false;
  }
}

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
