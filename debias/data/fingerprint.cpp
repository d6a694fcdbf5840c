#include "debias/data/fingerprint.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/core/sha256.h"
#include "debias/data/dataset_registry.h"
#include "debias/data/image_records.h"
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

}  // namespace debias
