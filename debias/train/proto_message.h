// Protobuf messages by hand: the few that event files hold do not earn generated code.
#pragma once

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <cstdint>
#include <cstring>
#include <string>

namespace debias {

using ProtoStream = google::protobuf::io::CodedOutputStream;

enum class WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

constexpr uint32_t proto_tag(uint32_t field, WireType type) { return field << 3 | static_cast<uint32_t>(type); }

// The bytes that `write` gives the stream.
template <class Write>
std::string proto_message(const Write& write) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream sink(&bytes);
    ProtoStream out(&sink);
    write(out);
  }
  return bytes;
}

inline void write_bytes(ProtoStream& out, uint32_t field, const std::string& bytes) {
  out.WriteTag(proto_tag(field, WireType::kBytes));
  out.WriteVarint32(static_cast<uint32_t>(bytes.size()));
  out.WriteString(bytes);
}

inline void write_varint(ProtoStream& out, uint32_t field, uint64_t value) {
  out.WriteTag(proto_tag(field, WireType::kVarint));
  out.WriteVarint64(value);
}

inline void write_double(ProtoStream& out, uint32_t field, double value) {
  uint64_t raw;
  std::memcpy(&raw, &value, sizeof raw);
  out.WriteTag(proto_tag(field, WireType::kFixed64));
  out.WriteLittleEndian64(raw);
}

inline void write_float(ProtoStream& out, uint32_t field, float value) {
  uint32_t raw;
  std::memcpy(&raw, &value, sizeof raw);
  out.WriteTag(proto_tag(field, WireType::kFixed32));
  out.WriteLittleEndian32(raw);
}

}  // namespace debias
