// The parts of JPEG, PNG and WebP files beside their pixels, without decoding them. Bytes beyond the end of a damaged file are not read.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace debias {

// Calls visit(marker, content) for each segment of a JPEG file before its first scan, until it returns false.
void for_each_jpeg_segment(std::span<const uint8_t> file, const std::function<bool(uint8_t, std::span<const uint8_t>)>& visit);

// Calls visit(type, content) for each chunk of a PNG file, until it returns false.
void for_each_png_chunk(std::span<const uint8_t> file, const std::function<bool(std::string_view, std::span<const uint8_t>)>& visit);

// As for_each_png_chunk, for a WebP file: the chunks of its RIFF container.
void for_each_riff_chunk(std::span<const uint8_t> file, const std::function<bool(std::string_view, std::span<const uint8_t>)>& visit);

// The number in `size` bytes from `at` on, the most significant first; bytes beyond the end are zero.
uint64_t big_endian(std::span<const uint8_t> bytes, size_t at, size_t size);
uint64_t little_endian(std::span<const uint8_t> bytes, size_t at, size_t size);  // the least significant first

bool begins_with(std::span<const uint8_t> bytes, std::string_view start);

// At most `size` bytes from `at` on: those that are there.
std::span<const uint8_t> part_of(std::span<const uint8_t> bytes, size_t at, size_t size);

}  // namespace debias
