#include "debias/train/state/tensorboard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>

#include "debias/core/proto_message.h"

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

}  // namespace debias
