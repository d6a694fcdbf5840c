#include "debias/train/state/metric_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <vector>

#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/core/proto_message.h"
#include "debias/core/sha256.h"
#include "debias/train/recipe/hyper_parameters.h"

namespace debias {
namespace {

double now_seconds() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

// Field numbers of tensorflow's event.proto and summary.proto.
constexpr uint32_t kEventWallTime = 1, kEventStep = 2, kEventFileVersion = 3, kEventSummary = 5;
constexpr uint32_t kSummaryValue = 1, kValueTag = 1, kValueSimple = 2, kValueMetadata = 9;
constexpr uint32_t kMetadataPlugin = 1, kPluginName = 1, kPluginContent = 2;

std::string event_of_value(int64_t step, const ProtoMessage& value) {
  return ProtoMessage()
      .real(kEventWallTime, now_seconds())
      .integer(kEventStep, step)
      .message(kEventSummary, ProtoMessage().message(kSummaryValue, value))
      .serialized();
}

uint32_t masked(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

std::string little_endian(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text.push_back(static_cast<char>(value >> (8 * i)));
  return text;
}

}  // namespace

uint32_t crc32c(const void* data, size_t bytes) {
  static const auto table = [] {
    std::array<uint32_t, 256> entries{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) ? 0x82f63b78u : 0u);
      entries[i] = value;
    }
    return entries;
  }();
  uint32_t crc = ~0u;
  const auto* byte = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < bytes; ++i) crc = (crc >> 8) ^ table[(crc ^ byte[i]) & 0xff];
  return ~crc;
}

TensorBoardWriter::TensorBoardWriter(const std::string& folder) {
  char host[256] = "host";
  gethostname(host, sizeof host - 1);
  const std::string path = fmt::format("{}/events.out.tfevents.{:010d}.{}.{}", folder, static_cast<int64_t>(now_seconds()), host, getpid());
  file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  record(ProtoMessage().real(kEventWallTime, now_seconds()).bytes(kEventFileVersion, "brain.Event:2").serialized());
}

void TensorBoardWriter::scalar(const std::string& tag, int64_t step, double value) {
  record(event_of_value(step, ProtoMessage().bytes(kValueTag, tag).real(kValueSimple, static_cast<float>(value))));
}

void TensorBoardWriter::plugin(const std::string& tag, const std::string& name, const std::string& content) {
  const ProtoMessage data = ProtoMessage().bytes(kPluginName, name).bytes(kPluginContent, content);
  const ProtoMessage metadata = ProtoMessage().message(kMetadataPlugin, data);
  record(event_of_value(0, ProtoMessage().bytes(kValueTag, tag).message(kValueMetadata, metadata)));
}

void TensorBoardWriter::record(const std::string& bytes) {
  const std::string length = little_endian(bytes.size(), 8);
  pending_ += length + little_endian(masked(crc32c(length.data(), length.size())), 4) + bytes +
              little_endian(masked(crc32c(bytes.data(), bytes.size())), 4);
  constexpr size_t kMany = 8192;
  if (pending_.size() > kMany) flush();
}

// Whole records or none, so that a file on a full disk can be read and gone on with.
void TensorBoardWriter::flush() {
  if (file_ < 0) return pending_.clear();
  const ssize_t count = pwrite(file_, pending_.data(), pending_.size(), written_);
  if (count != static_cast<ssize_t>(pending_.size())) {
    static_cast<void>(!ftruncate(file_, written_));
    return;
  }
  written_ += count;
  pending_.clear();
}

TensorBoardWriter::~TensorBoardWriter() {
  flush();
  if (file_ >= 0) close(file_);
}

namespace {

std::string sha256_of(const std::string& text) {
  Sha256 hash;
  hash.update(text.data(), text.size());
  return hash.hex();
}

// 0, or the reason as errno has it.
int append_to(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(file, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    text.remove_prefix(static_cast<size_t>(count));
  }
  return fsync(file) == 0 ? 0 : errno;
}

std::string read_prefix(const std::string& path, const MetricMark& keep) {
  if (keep.bytes == 0) return "";
  std::error_code none;
  const auto there = std::filesystem::file_size(path, none);
  std::string text;
  if (!none && there >= static_cast<uintmax_t>(keep.bytes)) text.resize(static_cast<size_t>(keep.bytes));
  std::ifstream file(path, std::ios::binary);
  if (text.empty() || !file.read(text.data(), keep.bytes)) {
    throw data_error("resuming: '{}' is shorter than the {} bytes recorded in the checkpoint; restore it, or start again with --overwrite",
                     path, keep.bytes);
  }
  if (!keep.sha256.empty() && sha256_of(text) != keep.sha256) {
    throw data_error(
        "resuming: the first {} bytes of '{}' are not those recorded in the checkpoint; restore it, or start again with --overwrite",
        keep.bytes, path);
  }
  epoch_table_csv(text);  // older checkpoints have no hash: rejects a line without metrics before a step is done
  return text;
}

}  // namespace

void require_metrics(const std::string& path, const MetricMark& mark) { read_prefix(path, mark); }

MetricFiles::MetricFiles(const std::string& folder, const MetricMark& keep, Log& log)
    : folder_(folder), log_(log), text_(read_prefix(folder + "/metrics.jsonl", keep)), tensorboard_(folder) {
  write_file_atomically(folder_ + "/metrics.jsonl", text_);
  on_disk_ = text_.size();
}

void MetricFiles::write(const nlohmann::ordered_json& line, int64_t step) {
  text_ += line.dump() + "\n";
  const std::string prefix = line.contains("step") ? "step/" : "epoch/";
  for (const auto& [key, value] : line.items()) {
    if (key != "epoch" && key != "step" && value.is_number()) tensorboard_.scalar(prefix + key, step, value.get<double>());
  }
}

void MetricFiles::write_time(const EpochTime& time, int64_t step) {
  tensorboard_.scalar("time/" + time.counted + "_per_second", step, time.per_second());
  if (append_epoch_time(folder_, time)) return;
  log_.warn(fmt::format("'{}/{}' cannot be written: the time of epoch {} is missing there", folder_, kEpochTimesFile, time.epoch));
}

void MetricFiles::append(const std::string& path) const {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC, 0644));
  if (file.value() < 0) throw resource_error("writing '{}': it cannot be opened; check the folder and the disk", path);
  const int failure = append_to(file.value(), std::string_view(text_).substr(on_disk_));
  if (failure != 0 && ftruncate(file.value(), static_cast<off_t>(on_disk_)) != 0) {
    log_.warn(fmt::format("'{}' has an incomplete line", path));
  }
  errno = failure;
  if (means_full_disk(failure)) throw DiskFull(path, text_.size() - on_disk_);
  if (failure == EFBIG) throw file_too_large(path);
  if (failure != 0) throw resource_error("writing '{}': {}; check the disk, then --resume", path, std::strerror(failure));
}

MetricMark MetricFiles::commit() {
  const std::string path = folder_ + "/metrics.jsonl";
  std::error_code none;
  const auto there = std::filesystem::file_size(path, none);
  if (none || there != on_disk_) {
    log_.warn(fmt::format("'{}' was changed during the run: it is overwritten", path));
    write_file_atomically(path, text_);
  } else if (text_.size() > on_disk_) {
    append(path);
    table_is_old_ = true;
  }
  on_disk_ = text_.size();
  if (table_is_old_ || !std::filesystem::exists(folder_ + "/metrics.csv", none)) {
    write_file_atomically(folder_ + "/metrics.csv", epoch_table_csv(text_));
    table_is_old_ = false;
  }
  tensorboard_.flush();
  return {static_cast<int64_t>(text_.size()), sha256_of(text_)};
}

std::string epoch_table_csv(const std::string& jsonl) {
  std::vector<nlohmann::ordered_json> rows;
  std::vector<std::string> columns;
  std::istringstream lines(jsonl);
  int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    auto row = nlohmann::ordered_json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!row.is_object()) {
      throw data_error("line {} of metrics.jsonl is damaged JSON: it was edited; restore it, or start again with --overwrite", number);
    }
    if (row.contains("step")) continue;
    for (const auto& [key, value] : row.items()) {
      if (std::find(columns.begin(), columns.end(), key) == columns.end()) columns.push_back(key);
    }
    rows.push_back(std::move(row));
  }
  std::string csv;
  for (const auto& column : columns) csv += (csv.empty() ? "" : ",") + column;
  if (!csv.empty()) csv += "\n";
  for (const auto& row : rows) {
    for (size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) csv += ",";
      if (row.contains(columns[i]) && !row[columns[i]].is_null()) csv += row[columns[i]].dump();
    }
    csv += "\n";
  }
  return csv;
}

void MetricFiles::begin(const Config& resolved) {
  tensorboard_.plugin(kSessionStartTag, kHyperPlugin, session_start(hyper_parameters(resolved)));
}

void MetricFiles::finish() { tensorboard_.plugin(kSessionEndTag, kHyperPlugin, session_success()); }

}  // namespace debias
