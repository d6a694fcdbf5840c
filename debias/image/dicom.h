// DICOM files, in builds with DCMTK (DEBIAS_DICOM); their pixels are read by image_decode.h.
//
// Of several frames the first. Grey: stored values times the rescale slope plus intercept; between the ends of the first window of the file, or
// where it has none of the range of the bits that it says are stored (BitsStored; with 16 of them SampleScale's), MONOCHROME1 inverted.
// SampleScale::window, of rescaled values, comes before the file's for more than 8 bits. Colour: RGB, palettes and YBR as DCMTK converts
// them. Uncompressed, deflated, RLE, JPEG (baseline, extended, lossless) and JPEG-LS; not JPEG 2000. Tables of values (LUT sequences) are ignored.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace debias {

bool reads_dicom();  // false: built without DCMTK, and every DICOM file is a FileError that says how to convert it

constexpr std::string_view kWithoutDicom =
    "is not read by this build: install libdcmtk-dev (scripts/bootstrap.sh --dicom) and build again, or convert to 16-bit PNG, for example "
    "with pydicom";

bool is_dicom(std::span<const uint8_t> bytes);

// The names of DICOM files often have no ending, or are numbers with points between them.
bool lacks_ending(const std::string& file_name);
bool has_dicom_extension(const std::string& file_name);  // .dcm .dicom .dic, in any case
bool begins_as_dicom(const std::string& path);

// Fields of the header that say where and how an image was taken: (keyword, value), in a fixed order; empty where missing.
using DicomFields = std::vector<std::pair<std::string, std::string>>;
DicomFields dicom_fields(const std::string& path);

}  // namespace debias
