#include "debias/image/dicom.h"

#ifdef DEBIAS_DICOM
#include <dcmtk/config/osconfig.h>
// The rest needs what the first defines.
#include <dcmtk/dcmdata/dccodec.h>
#include <dcmtk/dcmdata/dcistrmb.h>
#include <dcmtk/dcmdata/dcrledrg.h>
#include <dcmtk/dcmdata/dctk.h>
#include <dcmtk/dcmimage/diregist.h>
#include <dcmtk/dcmimgle/dcmimage.h>
#include <dcmtk/dcmjpeg/djdecode.h>
#include <dcmtk/dcmjpls/djdecode.h>
#include <dcmtk/oflog/oflog.h>
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>

#include "debias/core/error.h"
#include "debias/image/decoders.h"
#include "debias/image/exif.h"

namespace debias {

bool is_dicom(std::span<const uint8_t> bytes) {
  constexpr size_t kPreamble = 128;
  return bytes.size() > kPreamble && begins_with(bytes.subspan(kPreamble), "DICM");
}

bool lacks_ending(const std::string& file_name) {
  return ending_of(file_name).empty() || file_name.find_first_not_of("0123456789.") == std::string::npos;
}

bool has_dicom_extension(const std::string& file_name) {
  const std::string ending = ending_of(file_name);
  return ending == ".dcm" || ending == ".dicom" || ending == ".dic";
}

bool begins_as_dicom(const std::string& path) {
  std::array<uint8_t, 132> start{};
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(start.data()), start.size());
  return is_dicom({start.data(), static_cast<size_t>(file.gcount())});
}

#ifndef DEBIAS_DICOM

bool reads_dicom() { return false; }

Image decode_dicom(std::span<const uint8_t>, const std::string& path, DeepSamples&) {
  throw FileError(path, fmt::format("DICOM {}", kWithoutDicom));
}

ImageLook look_at_dicom(const std::string&) { return {}; }

DicomFields dicom_fields(const std::string&) { return {}; }

#else

namespace {

void prepare() {
  static const bool done = [] {
    OFLog::configure(OFLogger::OFF_LOG_LEVEL);
    DcmRLEDecoderRegistration::registerCodecs();
    DJDecoderRegistration::registerCodecs();
    DJLSDecoderRegistration::registerCodecs();
    return true;
  }();
  static_cast<void>(done);
}

FileError damaged_dicom(const std::string& path, const OFCondition& status) {
  return {path, fmt::format("corrupt or truncated DICOM file: {}", status.text())};
}

std::optional<double> number_in(DcmItem& item, const DcmTagKey& tag, bool in_groups) {
  Float64 value = 0;
  if (item.findAndGetFloat64(tag, value, 0, in_groups).bad() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::string text_in(DcmItem& item, const DcmTagKey& tag) {
  OFString text;
  item.findAndGetOFStringArray(tag, text);
  return {text.c_str(), text.size()};
}

struct DicomHeader {
  int64_t rows = 0, columns = 0, frames = 1;
  int samples = 1, allocated = 0, stored = 0, high = 0;
  bool is_signed = false;
  std::string interpretation;
  double slope = 1, intercept = 0;
  std::optional<std::pair<double, double> > window;  // centre and width
  std::string function;                              // of the window

  bool is_grey() const { return interpretation == "MONOCHROME1" || interpretation == "MONOCHROME2"; }
};

int required_number(DcmItem& item, const DcmTagKey& tag, const char* name, const std::string& path) {
  Uint16 value = 0;
  if (item.findAndGetUint16(tag, value).bad()) throw FileError(path, fmt::format("the DICOM file has no {}, so it is no image", name));
  return value;
}

DicomHeader dicom_header(DcmItem& item, const std::string& path) {
  DicomHeader header;
  header.rows = required_number(item, DCM_Rows, "Rows", path);
  header.columns = required_number(item, DCM_Columns, "Columns", path);
  require_allowed_size(header.rows, header.columns, path);
  header.allocated = required_number(item, DCM_BitsAllocated, "BitsAllocated", path);
  header.interpretation = text_in(item, DCM_PhotometricInterpretation);
  if (header.interpretation.empty()) throw FileError(path, "the DICOM file has no PhotometricInterpretation");
  Uint16 value = 0;
  if (item.findAndGetUint16(DCM_SamplesPerPixel, value).good()) header.samples = value;
  header.stored = item.findAndGetUint16(DCM_BitsStored, value).good() && value > 0 ? value : header.allocated;
  header.high = item.findAndGetUint16(DCM_HighBit, value).good() ? value : header.stored - 1;
  header.is_signed = item.findAndGetUint16(DCM_PixelRepresentation, value).good() && value == 1;
  Sint32 frames = 1;
  if (item.findAndGetSint32(DCM_NumberOfFrames, frames).good()) header.frames = frames;
  const bool in_groups = item.tagExists(DCM_SharedFunctionalGroupsSequence);  // of a file of several frames
  header.slope = number_in(item, DCM_RescaleSlope, in_groups).value_or(1);
  header.intercept = number_in(item, DCM_RescaleIntercept, in_groups).value_or(0);
  const auto centre = number_in(item, DCM_WindowCenter, in_groups), width = number_in(item, DCM_WindowWidth, in_groups);
  header.function = text_in(item, DCM_VOILUTFunction);
  const bool has_ends = width && *width >= 1 && (*width > 1 || header.function != "LINEAR");
  if (centre && has_ends) header.window = {*centre, *width};
  return header;
}

// Of a rescaled value, 0 to 1. Source: DICOM PS3.3, C.11.2.1.2 and C.11.2.1.3.
double share_of_window(double value, const DicomHeader& header) {
  const auto [centre, width] = *header.window;
  if (header.function == "SIGMOID") return 1 / (1 + std::exp(-4 * (value - centre) / width));
  if (header.function == "LINEAR_EXACT") return std::clamp((value - centre) / width + 0.5, 0.0, 1.0);
  if (width <= 1) return value > centre - 0.5 ? 1 : 0;
  return std::clamp((value - (centre - 0.5)) / (width - 1) + 0.5, 0.0, 1.0);
}

// Stored grey values to bytes.
class GreyScale {
 public:
  GreyScale(const DicomHeader& header, DeepSamples& samples) : header_(header), samples_(samples) {
    const int bits = header.stored == 16 ? samples.scale().bits : header.stored;
    low_ = header.is_signed ? -std::ldexp(1, bits - 1) : 0;
    steps_ = std::ldexp(1, bits) - 1;
  }

  uint8_t byte_of(uint32_t stored) {
    const int64_t value = value_of(stored);
    const auto share = share_of(value);
    return static_cast<uint8_t>(std::lround(255 * (header_.interpretation == "MONOCHROME1" ? 1 - share : share)));
  }

 private:
  int64_t value_of(uint32_t stored) const {
    const uint32_t mask = (uint32_t{1} << header_.stored) - 1;
    const int64_t value = stored >> std::max(0, header_.high + 1 - header_.stored) & mask;
    return header_.is_signed && (value >> (header_.stored - 1)) != 0 ? value - (int64_t{1} << header_.stored) : value;
  }

  double share_of(int64_t value) {
    const double rescaled = static_cast<double>(value) * header_.slope + header_.intercept;
    if (const auto& window = samples_.scale().window; window && header_.stored > 8) {
      return std::clamp((rescaled - window->first) / (window->second - window->first), 0.0, 1.0);
    }
    if (header_.window) return share_of_window(rescaled, header_);
    if (header_.stored == 16)
      samples_.byte_of(static_cast<uint16_t>(header_.is_signed ? std::min<int64_t>(65535, 2 * std::abs(value)) : value));
    const double share = std::clamp((static_cast<double>(value) - low_) / steps_, 0.0, 1.0);
    return header_.slope < 0 ? 1 - share : share;
  }

  const DicomHeader& header_;
  DeepSamples& samples_;
  double low_ = 0, steps_ = 255;
};

Image grey_frame(DcmDataset& data, const DicomHeader& header, const std::string& path, DeepSamples& samples) {
  const bool read = (header.allocated == 8 || header.allocated == 16) && header.stored <= header.allocated && header.samples == 1 &&
                    header.high < header.allocated;
  if (!read) {
    throw FileError(path, fmt::format("unsupported DICOM image: {} of {} bits a sample, {} samples a pixel; 8 and 16 bits are read",
                                      header.stored, header.allocated, header.samples));
  }
  DcmElement* pixels = nullptr;
  if (data.findAndGetElement(DCM_PixelData, pixels).bad() || pixels == nullptr) {
    throw FileError(path, "the DICOM file has no PixelData, so it is no image");
  }
  const auto count = static_cast<size_t>(header.rows * header.columns);
  std::vector<uint16_t> words((count * static_cast<size_t>(header.allocated / 8) + 3) / 4 * 2);
  Uint32 fragment = 0;
  OFString colours;
  const OFCondition status =
      pixels->getUncompressedFrame(&data, 0, fragment, words.data(), static_cast<Uint32>(words.size() * sizeof(uint16_t)), colours);
  if (status.bad()) throw damaged_dicom(path, status);
  const auto* bytes = reinterpret_cast<const uint8_t*>(words.data());
  GreyScale scale(header, samples);
  Image image{static_cast<int>(header.rows), static_cast<int>(header.columns), 3, std::vector<uint8_t>(3 * count)};
  for (size_t i = 0; i < count; ++i) {
    std::fill_n(image.pixels.begin() + static_cast<ptrdiff_t>(3 * i), 3, scale.byte_of(header.allocated == 8 ? bytes[i] : words[i]));
  }
  return image;
}

Image colour_frame(DcmFileFormat& file, const DicomHeader& header, const std::string& path) {
  DicomImage frame(&file, file.getDataset()->getCurrentXfer(), CIF_UsePartialAccessToPixelData, 0, 1);
  if (frame.getStatus() != EIS_Normal) {
    throw FileError(
        path, fmt::format("unsupported or damaged DICOM image ({}): {}", header.interpretation, DicomImage::getString(frame.getStatus())));
  }
  Image image{static_cast<int>(header.rows), static_cast<int>(header.columns), 3,
              std::vector<uint8_t>(static_cast<size_t>(header.rows * header.columns * 3))};
  if (frame.isMonochrome() || frame.getOutputDataSize(8) != image.pixels.size() ||
      frame.getOutputData(image.pixels.data(), image.pixels.size(), 8) == 0) {
    throw FileError(path, fmt::format("unsupported DICOM image: colours of kind {}", header.interpretation));
  }
  return image;
}

std::unique_ptr<DcmFileFormat> header_of_file(const std::string& path) {
  prepare();
  if (!begins_as_dicom(path)) return nullptr;
  auto file = std::make_unique<DcmFileFormat>();
  const OFCondition status =
      file->loadFileUntilTag(path.c_str(), EXS_Unknown, EGL_noChange, DCM_MaxReadLength, ERM_autoDetect, DCM_PixelData);
  return status.bad() ? nullptr : std::move(file);
}

}  // namespace

bool reads_dicom() { return true; }

Image decode_dicom(std::span<const uint8_t> bytes, const std::string& path, DeepSamples& samples) {
  prepare();
  DcmInputBufferStream stream;
  stream.setBuffer(bytes.data(), static_cast<offile_off_t>(bytes.size()));
  stream.setEos();
  DcmFileFormat file;
  file.transferInit();
  const OFCondition status = file.read(stream);
  file.transferEnd();
  if (status.bad()) throw damaged_dicom(path, status);
  DcmDataset& data = *file.getDataset();
  const DicomHeader header = dicom_header(data, path);
  if (!data.tagExists(DCM_PixelData)) throw FileError(path, "the DICOM file has no PixelData, so it is no image");
  const DcmXfer syntax(data.getCurrentXfer());
  if (syntax.isEncapsulated() && !DcmCodecList::canChangeCoding(data.getCurrentXfer(), EXS_LittleEndianExplicit)) {
    throw FileError(path, fmt::format("unsupported DICOM image: compressed as {}; decompress it, for example with gdcmconv --raw",
                                      syntax.getXferName()));
  }
  return header.is_grey() ? grey_frame(data, header, path, samples) : colour_frame(file, header, path);
}

ImageLook look_at_dicom(const std::string& path) {
  try {
    const auto file = header_of_file(path);
    if (file == nullptr) return {};
    const DicomHeader header = dicom_header(*file->getDataset(), path);
    return {.deep = header.is_grey() && header.stored == 16 && !header.window, .more = header.frames > 1};
  } catch (const FileError&) {  // it is reported where it is read
    return {};
  }
}

DicomFields dicom_fields(const std::string& path) {
  const std::pair<const char*, DcmTagKey> kFields[] = {
      {"Modality", DCM_Modality},
      {"Manufacturer", DCM_Manufacturer},
      {"ManufacturerModelName", DCM_ManufacturerModelName},
      {"StationName", DCM_StationName},
      {"InstitutionName", DCM_InstitutionName},
      {"BodyPartExamined", DCM_BodyPartExamined},
      {"ViewPosition", DCM_ViewPosition},
      {"PatientPosition", DCM_PatientPosition},
      {"ImageLaterality", DCM_ImageLaterality},
      {"PatientSex", DCM_PatientSex},
      {"PatientAge", DCM_PatientAge},
      {"KVP", DCM_KVP},
      {"SoftwareVersions", DCM_SoftwareVersions},
      {"PhotometricInterpretation", DCM_PhotometricInterpretation},
      {"BitsStored", DCM_BitsStored},
      {"Rows", DCM_Rows},
      {"Columns", DCM_Columns},
      {"PatientID", DCM_PatientID},
      {"StudyInstanceUID", DCM_StudyInstanceUID},
  };
  DicomFields fields;
  const auto file = header_of_file(path);
  if (file != nullptr) file->getDataset()->convertToUTF8();
  for (const auto& [name, tag] : kFields) fields.emplace_back(name, file == nullptr ? "" : text_in(*file->getDataset(), tag));
  return fields;
}

#endif

}  // namespace debias
