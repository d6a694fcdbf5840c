// PNG files of kinds that the library does not write, from their packed rows.
#pragma once

#include <zlib.h>

#include <string>

#include "tests/data/fixture_files.h"

namespace debias::fixture {

inline void put_number(Bytes& bytes, uint32_t word) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<uint8_t>(word >> shift));
}

inline void put_chunk(Bytes& file, const std::string& kind, const Bytes& content) {
  put_number(file, static_cast<uint32_t>(content.size()));
  Bytes checked(kind.begin(), kind.end());
  checked.insert(checked.end(), content.begin(), content.end());
  file.insert(file.end(), checked.begin(), checked.end());
  put_number(file, static_cast<uint32_t>(crc32(0, checked.data(), static_cast<uInt>(checked.size()))));
}

enum class PngKind : uint8_t { kGrey = 0, kColour = 2, kPalette = 3, kGreyAlpha = 4, kColourAlpha = 6 };

struct PngHeader {
  uint32_t width = 1, height = 1;
  uint8_t depth = 8;
  PngKind kind = PngKind::kGrey;
};

// `rows`: each begins with its filter, 0. `before`: chunks between header and pixels.
inline Bytes raw_png(const PngHeader& header, const Bytes& rows, const std::vector<std::pair<std::string, Bytes>>& before = {}) {
  Bytes packed(compressBound(rows.size()));
  uLongf size = packed.size();
  compress(packed.data(), &size, rows.data(), rows.size());
  packed.resize(size);
  Bytes start;
  put_number(start, header.width);
  put_number(start, header.height);
  start.insert(start.end(), {header.depth, static_cast<uint8_t>(header.kind), 0, 0, 0});
  Bytes file = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  put_chunk(file, "IHDR", start);
  for (const auto& [kind, content] : before) put_chunk(file, kind, content);
  put_chunk(file, "IDAT", packed);
  put_chunk(file, "IEND", {});
  return file;
}

}  // namespace debias::fixture
