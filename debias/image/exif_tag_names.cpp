#include "debias/image/exif_tag_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace debias {
namespace {

struct TagName {
  uint16_t tag;
  std::string_view name;
};

constexpr auto kTags = std::to_array<TagName>({
    {0x00fe, "SubfileType"},
    {0x0102, "BitsPerSample"},
    {0x0103, "Compression"},
    {0x0106, "PhotometricInterpretation"},
    {0x010a, "FillOrder"},
    {0x010d, "DocumentName"},
    {0x010e, "ImageDescription"},
    {0x010f, "Make"},
    {0x0110, "Model"},
    {0x0112, "Orientation"},
    {0x0115, "SamplesPerPixel"},
    {0x011a, "XResolution"},
    {0x011b, "YResolution"},
    {0x011c, "PlanarConfiguration"},
    {0x0128, "ResolutionUnit"},
    {0x0131, "Software"},
    {0x0132, "DateTime"},
    {0x013b, "Artist"},
    {0x013c, "HostComputer"},
    {0x013d, "Predictor"},
    {0x013e, "WhitePoint"},
    {0x013f, "PrimaryChromaticities"},
    {0x0152, "ExtraSamples"},
    {0x0153, "SampleFormat"},
    {0x0211, "YCbCrCoefficients"},
    {0x0212, "YCbCrSubSampling"},
    {0x0213, "YCbCrPositioning"},
    {0x0214, "ReferenceBlackWhite"},
    {0x02bc, "XMP"},
    {0x4746, "Rating"},
    {0x8298, "Copyright"},
    {0x829a, "ExposureTime"},
    {0x829d, "FNumber"},
    {0x83bb, "IPTC"},
    {0x8649, "Photoshop"},
    {0x8773, "ICCProfile"},
    {0x8822, "ExposureProgram"},
    {0x8824, "SpectralSensitivity"},
    {0x8827, "ISOSpeedRatings"},
    {0x8830, "SensitivityType"},
    {0x8832, "RecommendedExposureIndex"},
    {0x9000, "ExifVersion"},
    {0x9003, "DateTimeOriginal"},
    {0x9004, "DateTimeDigitized"},
    {0x9010, "OffsetTime"},
    {0x9011, "OffsetTimeOriginal"},
    {0x9012, "OffsetTimeDigitized"},
    {0x9101, "ComponentsConfiguration"},
    {0x9102, "CompressedBitsPerPixel"},
    {0x9201, "ShutterSpeedValue"},
    {0x9202, "ApertureValue"},
    {0x9203, "BrightnessValue"},
    {0x9204, "ExposureBiasValue"},
    {0x9205, "MaxApertureValue"},
    {0x9206, "SubjectDistance"},
    {0x9207, "MeteringMode"},
    {0x9208, "LightSource"},
    {0x9209, "Flash"},
    {0x920a, "FocalLength"},
    {0x9214, "SubjectArea"},
    {0x927c, "MakerNote"},
    {0x9286, "UserComment"},
    {0x9290, "SubSecTime"},
    {0x9291, "SubSecTimeOriginal"},
    {0x9292, "SubSecTimeDigitized"},
    {0x9400, "Temperature"},
    {0x9401, "Humidity"},
    {0x9c9b, "XPTitle"},
    {0x9c9c, "XPComment"},
    {0x9c9d, "XPAuthor"},
    {0x9c9e, "XPKeywords"},
    {0x9c9f, "XPSubject"},
    {0xa000, "FlashpixVersion"},
    {0xa001, "ColorSpace"},
    {0xa20b, "FlashEnergy"},
    {0xa20e, "FocalPlaneXResolution"},
    {0xa20f, "FocalPlaneYResolution"},
    {0xa210, "FocalPlaneResolutionUnit"},
    {0xa215, "ExposureIndex"},
    {0xa217, "SensingMethod"},
    {0xa300, "FileSource"},
    {0xa301, "SceneType"},
    {0xa302, "CFAPattern"},
    {0xa401, "CustomRendered"},
    {0xa402, "ExposureMode"},
    {0xa403, "WhiteBalance"},
    {0xa404, "DigitalZoomRatio"},
    {0xa405, "FocalLengthIn35mmFilm"},
    {0xa406, "SceneCaptureType"},
    {0xa407, "GainControl"},
    {0xa408, "Contrast"},
    {0xa409, "Saturation"},
    {0xa40a, "Sharpness"},
    {0xa40c, "SubjectDistanceRange"},
    {0xa420, "ImageUniqueID"},
    {0xa430, "CameraOwnerName"},
    {0xa431, "BodySerialNumber"},
    {0xa432, "LensSpecification"},
    {0xa433, "LensMake"},
    {0xa434, "LensModel"},
    {0xa435, "LensSerialNumber"},
    {0xa500, "Gamma"},
});

constexpr auto kPositionTags = std::to_array<TagName>({
    {0x00, "GPS version"},
    {0x01, "GPS latitude reference"},
    {0x02, "GPS latitude"},
    {0x03, "GPS longitude reference"},
    {0x04, "GPS longitude"},
    {0x05, "GPS altitude reference"},
    {0x06, "GPS altitude"},
    {0x07, "GPS hour"},
    {0x08, "GPS satellites"},
    {0x09, "GPS status"},
    {0x0a, "GPS measure mode"},
    {0x0b, "GPS precision"},
    {0x0c, "GPS speed reference"},
    {0x0d, "GPS speed"},
    {0x0e, "GPS track reference"},
    {0x0f, "GPS track"},
    {0x10, "GPS direction reference"},
    {0x11, "GPS direction"},
    {0x12, "GPS map datum"},
    {0x14, "GPS destination latitude"},
    {0x16, "GPS destination longitude"},
    {0x1b, "GPS processing method"},
    {0x1c, "GPS area"},
    {0x1d, "GPS date"},
    {0x1f, "GPS positioning error"},
});

}  // namespace

std::string exif_tag_name(ExifPart part, uint16_t tag) {
  const bool of_position = part == ExifPart::kPosition;
  const std::span<const TagName> names = of_position ? std::span<const TagName>(kPositionTags) : std::span<const TagName>(kTags);
  const auto found = std::ranges::lower_bound(names, tag, {}, &TagName::tag);
  if (found != names.end() && found->tag == tag) return std::string(found->name);
  return fmt::format("{}tag {:#06x}", of_position ? "GPS " : "", tag);
}

}  // namespace debias
