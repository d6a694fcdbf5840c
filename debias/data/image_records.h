// The listing behind a fingerprint (fingerprint.h): one record an image, in the order of the data set.
//
// A record is "ID LABEL BIAS BYTES TIME HASH SOURCE", ended by a zero byte, since a path may hold anything else. BYTES and TIME (of
// modification, ns) are -1 for an image without a file of its own; HASH is 16 hexadecimal digits of a SHA-256, `-` where none was taken,
// `unreadable` where the image could not be read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace debias {

struct ImageRecord {
  int64_t id = 0, label = 0, bias = 0, bytes = -1, time = -1;
  std::string_view hash = "-", source;
};

inline bool hashed(const ImageRecord& record) { return record.hash != "-"; }

void append_record(std::string& listing, const ImageRecord& record);

// Views into `listing`, which must be whole records.
std::vector<ImageRecord> records_of(std::string_view listing);

// gzip's format. unpacked: empty where the bytes are damaged or hold more than `limit`.
std::string packed(std::string_view listing);
std::string unpacked(std::string_view bytes, size_t limit);

}  // namespace debias
