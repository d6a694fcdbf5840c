#include "debias/image/iptc_traces.h"

#include <fmt/format.h>

#include "debias/image/file_segments.h"

namespace debias {
namespace {

// Records of two markers, the number of the data set, and a size.
void add_records(std::span<const uint8_t> content, FileTraces& traces) {
  constexpr uint8_t kStart = 0x1c, kApplication = 0x02;
  constexpr size_t kHead = 5, kMostRecords = 64;
  size_t records = 0;
  for (size_t at = 0; at + kHead <= content.size() && content[at] == kStart && records < kMostRecords; ++records) {
    const size_t size = big_endian(content, at + 3, 2);
    if (content[at + 1] == kApplication) {
      add_text_trace(fmt::format("IPTC {}", content[at + 2]), trace_value(part_of(content, at + kHead, size)), traces);
    }
    at += kHead + size;
  }
}

}  // namespace

void add_iptc_traces(std::span<const uint8_t> resources, FileTraces& traces) {
  constexpr uint64_t kRecords = 0x0404;
  std::string order;
  for (size_t at = 0; at + 12 <= resources.size() && begins_with(part_of(resources, at, 4), "8BIM");) {
    const uint64_t id = big_endian(resources, at + 4, 2);
    const size_t name = 1 + resources[at + 6], head = 6 + name + name % 2;
    const size_t size = big_endian(resources, at + head, 4);
    if (id == kRecords) add_records(part_of(resources, at + head + 4, size), traces);
    order += fmt::format("{:x} ", id);
    at += head + 4 + size + size % 2;
  }
  traces.push_back({"Photoshop resources", order, TraceKind::kOrder});
}

}  // namespace debias
