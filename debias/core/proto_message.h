// Protobuf messages without generated code: the few that event files and ONNX models hold do not earn it. Fields are written in the order
// of the calls. Whoever includes this links protobuf.
#pragma once

#include <google/protobuf/io/coded_stream.h>

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace debias {

class ProtoMessage {
 public:
  ProtoMessage& integer(uint32_t field, int64_t value) {
    tag(field, WireType::kVarint);
    return append([&](uint8_t* to) { return Stream::WriteVarint64ToArray(static_cast<uint64_t>(value), to); });
  }
  ProtoMessage& real(uint32_t field, double value) {
    tag(field, WireType::kFixed64);
    return append([&](uint8_t* to) { return Stream::WriteLittleEndian64ToArray(std::bit_cast<uint64_t>(value), to); });
  }
  ProtoMessage& real(uint32_t field, float value) {
    tag(field, WireType::kFixed32);
    return append([&](uint8_t* to) { return Stream::WriteLittleEndian32ToArray(std::bit_cast<uint32_t>(value), to); });
  }
  ProtoMessage& bytes(uint32_t field, std::string_view value) {
    tag(field, WireType::kBytes);
    append([&](uint8_t* to) { return Stream::WriteVarint64ToArray(value.size(), to); });
    return encoded(value);
  }
  ProtoMessage& message(uint32_t field, const ProtoMessage& value) { return bytes(field, value.serialized_); }
  // Fields that are encoded already.
  ProtoMessage& encoded(std::string_view fields) {
    serialized_.append(fields);
    return *this;
  }
  const std::string& serialized() const { return serialized_; }

 private:
  using Stream = google::protobuf::io::CodedOutputStream;
  enum class WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  void tag(uint32_t field, WireType type) {
    append([&](uint8_t* to) { return Stream::WriteTagToArray(field << 3 | static_cast<uint32_t>(type), to); });
  }
  template <class Write>
  ProtoMessage& append(const Write& write) {
    std::array<uint8_t, 10> bytes;  // the longest varint
    serialized_.append(bytes.data(), write(bytes.data()));
    return *this;
  }

  std::string serialized_;
};

}  // namespace debias
