// The EXIF block of an image file: a TIFF structure of directories, whose entries are tags with values.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace debias {

enum class ByteOrder { kLittle, kBig };

struct ExifBlock {
  std::span<const uint8_t> bytes;  // from its byte order on; empty where there is none
  ByteOrder order = ByteOrder::kLittle;

  uint64_t number(size_t at, size_t size) const;  // zero beyond the end
  uint64_t first_directory() const { return number(4, 4); }
};

// Of a JPEG, PNG or WebP file; empty where the file is of another format, has none or a damaged one.
ExifBlock exif_block(std::span<const uint8_t> file);

// The structure of a TIFF file (not of a BigTIFF file), which has the form of an EXIF block.
ExifBlock tiff_block(std::span<const uint8_t> file);

enum class ExifPart { kImage, kPhotograph, kPosition };  // the first directory, and those of the photograph and of GPS

struct ExifEntry {
  ExifPart part = ExifPart::kImage;
  uint16_t tag = 0, type = 0;
  uint32_t count = 0;                // as stored
  std::span<const uint8_t> content;  // of `count` values, or those that are there
};

// Calls visit(entry) for the entries of each part, at most 256 of a part, without the pointers to the other parts.
void for_each_exif_entry(const ExifBlock& block, const std::function<void(const ExifEntry&)>& visit);

// Bytes of a value of this type; 0 for types that EXIF does not have.
size_t exif_type_size(uint16_t type);

}  // namespace debias
