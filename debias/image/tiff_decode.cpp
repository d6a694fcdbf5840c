#include "debias/image/decoders.h"

#include <tiffio.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "debias/core/error.h"
#include "debias/image/exif.h"
#include "debias/image/image.h"

namespace debias {
namespace {

struct TiffSource {
  std::span<const uint8_t> bytes;
  size_t at = 0;
  char fault[256] = "";  // the first
};

tmsize_t on_read(thandle_t handle, void* to, tmsize_t size) {
  TiffSource& source = *static_cast<TiffSource*>(handle);
  const size_t begin = std::min(source.at, source.bytes.size());
  const size_t count = std::min(static_cast<size_t>(std::max<tmsize_t>(size, 0)), source.bytes.size() - begin);
  if (count > 0) std::memcpy(to, source.bytes.data() + begin, count);
  source.at = begin + count;
  return static_cast<tmsize_t>(count);
}
tmsize_t on_write(thandle_t, void*, tmsize_t) { return 0; }
toff_t on_seek(thandle_t handle, toff_t to, int whence) {
  TiffSource& source = *static_cast<TiffSource*>(handle);
  source.at = to + (whence == SEEK_SET ? 0 : whence == SEEK_CUR ? source.at : source.bytes.size());
  return source.at;
}
int on_close(thandle_t) { return 0; }
toff_t on_size(thandle_t handle) { return static_cast<TiffSource*>(handle)->bytes.size(); }
int on_map(thandle_t handle, void** base, toff_t* size) {
  const TiffSource& source = *static_cast<TiffSource*>(handle);
  *base = const_cast<uint8_t*>(source.bytes.data());
  *size = source.bytes.size();
  return 1;
}
void on_unmap(thandle_t, void*, toff_t) {}

int on_error(TIFF*, void* user, const char*, const char* format, va_list values) {
  TiffSource& source = *static_cast<TiffSource*>(user);
  if (source.fault[0] == '\0') std::vsnprintf(source.fault, sizeof source.fault, format, values);
  return 1;
}

// A tag that could not be read and changes what the pixels mean: without it they would be others, in silence.
bool costs_pixels(std::string_view warning) {
  constexpr std::string_view kIgnored = "tag ignored";
  if (warning.find(kIgnored) == std::string_view::npos) return false;
  for (const std::string_view tag : {"BitsPerSample", "ColorMap", "ExtraSamples", "FillOrder", "InkSet", "JPEGTables", "Orientation",
                                     "PhotometricInterpretation", "PlanarConfiguration", "Predictor", "SampleFormat"}) {
    if (warning.find(tag) != std::string_view::npos) return true;
  }
  return false;
}

// Unknown tags and the like leave the pixels intact; what libjpeg warns of does not.
int on_warning(TIFF* file, void* user, const char* module, const char* format, va_list values) {
  char text[sizeof(TiffSource::fault)];
  va_list again;
  va_copy(again, values);
  std::vsnprintf(text, sizeof text, format, again);
  va_end(again);
  const bool of_jpeg = module != nullptr && std::string_view(module) == "JPEGLib";
  return of_jpeg || costs_pixels(text) ? on_error(file, user, module, format, values) : 1;
}

using File = std::unique_ptr<TIFF, decltype(&TIFFClose)>;

File open_file(TiffSource& source) {
  constexpr tmsize_t kMostMemoryAtOnce = tmsize_t{1} << 29;  // bytes
  const std::unique_ptr<TIFFOpenOptions, decltype(&TIFFOpenOptionsFree)> options(TIFFOpenOptionsAlloc(), TIFFOpenOptionsFree);
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), kMostMemoryAtOnce);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), on_error, &source);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), on_warning, &source);
  return {TIFFClientOpenExt("image", "r", &source, on_read, on_write, on_seek, on_close, on_size, on_map, on_unmap, options.get()),
          TIFFClose};
}

struct Layout {
  uint32_t width = 0, height = 0;
  uint16_t bits = 1, samples = 1, colours = 0, compression = COMPRESSION_NONE, orientation = 1;
  bool planes = false;         // each sample of all pixels for itself
  bool alpha = false;          // is the first sample behind the colours
  bool premultiplied = false;  // by it
  const uint16_t* palette[3] = {nullptr, nullptr, nullptr};

  size_t samples_a_row() const { return planes ? 1 : samples; }
  uint64_t row_bytes(uint64_t pixels) const { return (pixels * samples_a_row() * bits + 7) / 8; }
};

uint16_t tag_of(TIFF* file, uint32_t tag) {
  uint16_t value = 0;
  TIFFGetFieldDefaulted(file, tag, &value);
  return value;
}

// Colours that a pixel of this interpretation has; 0 where it is not read.
uint16_t colours_of(uint16_t interpretation) {
  switch (interpretation) {
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_MINISBLACK:
    case PHOTOMETRIC_PALETTE:
      return 1;
    case PHOTOMETRIC_RGB:
      return 3;
    case PHOTOMETRIC_SEPARATED:
      return 4;
    default:
      return 0;
  }
}

class TiffDecoder {
 public:
  TiffDecoder(std::span<const uint8_t> bytes, const std::string& path, DeepSamples& samples, const Ground& ground)
      : path_(path), source_{bytes}, file_(open_file(source_)), samples_(samples), ground_(ground) {
    if (file_ == nullptr || source_.fault[0] != '\0') throw damaged();
  }

  Image decode() {
    read_layout();
    require_supported();
    require_possible();
    image_ = {static_cast<int>(layout_.height), static_cast<int>(layout_.width), 3,
              std::vector<uint8_t>(size_t{3} * layout_.height * layout_.width)};
    const int planes = layout_.planes ? layout_.colours : 1;
    for (int plane = 0; plane < planes; ++plane) TIFFIsTiled(file_.get()) != 0 ? read_tiles(plane) : read_rows(plane);
    return turned(PartialImage::whole(std::move(image_)), orientation_of(layout_.orientation)).image;
  }

 private:
  FileError damaged() const { return {path_, fmt::format("corrupt or truncated TIFF image: {}", source_.fault)}; }
  FileError unsupported(const std::string& what) const { return {path_, fmt::format("unsupported TIFF image: {}", what)}; }

  void read_layout() {
    TIFF* file = file_.get();
    TIFFGetField(file, TIFFTAG_IMAGEWIDTH, &layout_.width);
    TIFFGetField(file, TIFFTAG_IMAGELENGTH, &layout_.height);
    require_allowed_size(layout_.height, layout_.width, path_);
    layout_.bits = tag_of(file, TIFFTAG_BITSPERSAMPLE);
    layout_.samples = tag_of(file, TIFFTAG_SAMPLESPERPIXEL);
    layout_.compression = tag_of(file, TIFFTAG_COMPRESSION);
    layout_.orientation = tag_of(file, TIFFTAG_ORIENTATION);
    layout_.planes = tag_of(file, TIFFTAG_PLANARCONFIG) == PLANARCONFIG_SEPARATE && layout_.samples > 1;
    if (TIFFGetField(file, TIFFTAG_PHOTOMETRIC, &interpretation_) == 0) throw unsupported("it does not say how its colours are meant");
    if (interpretation_ == PHOTOMETRIC_YCBCR && layout_.compression == COMPRESSION_JPEG && !layout_.planes) {
      TIFFSetField(file, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
      interpretation_ = PHOTOMETRIC_RGB;
    }
    layout_.colours = colours_of(interpretation_);
    uint16_t extra = 0;
    const uint16_t* kinds = nullptr;
    TIFFGetFieldDefaulted(file, TIFFTAG_EXTRASAMPLES, &extra, &kinds);
    layout_.premultiplied = extra > 0 && kinds != nullptr && kinds[0] == EXTRASAMPLE_ASSOCALPHA;
    layout_.alpha = layout_.premultiplied || (extra > 0 && kinds != nullptr && kinds[0] == EXTRASAMPLE_UNASSALPHA);
  }

  void require_supported() {
    constexpr uint16_t kMostSamples = 6;
    if (TIFFIsCODECConfigured(layout_.compression) == 0) throw unsupported(fmt::format("compression {}", layout_.compression));
    if (layout_.colours == 0) throw unsupported(fmt::format("colours of kind {} (photometric interpretation)", interpretation_));
    if (layout_.samples < layout_.colours || layout_.samples > kMostSamples) {
      throw unsupported(fmt::format("{} samples a pixel where {} to {} are read", layout_.samples, layout_.colours, kMostSamples));
    }
    const uint16_t bits = layout_.bits, kind = tag_of(file_.get(), TIFFTAG_SAMPLEFORMAT);
    const bool palette = interpretation_ == PHOTOMETRIC_PALETTE;
    const bool whole_numbers = kind == SAMPLEFORMAT_UINT || kind == SAMPLEFORMAT_VOID;
    if (!whole_numbers || (bits != 1 && bits != 2 && bits != 4 && bits != 8 && (bits != 16 || palette))) {
      throw unsupported(fmt::format("samples of {} bits{}", bits, whole_numbers ? "" : " that are not whole numbers from 0"));
    }
    if (layout_.planes && (layout_.premultiplied || layout_.colours == 4)) throw unsupported("premultiplied or CMYK planes");
    if (layout_.planes && layout_.alpha && ground_) throw unsupported("transparency in planes, unless it is dropped");
    uint16_t *red = nullptr, *green = nullptr, *blue = nullptr;
    if (palette && TIFFGetField(file_.get(), TIFFTAG_COLORMAP, &red, &green, &blue) == 0) throw unsupported("a palette without colours");
    layout_.palette[0] = red, layout_.palette[1] = green, layout_.palette[2] = blue;
  }

  // Nothing is set aside for a header that cannot be true: Huffman codes and deflate pack less than 4096 bytes into one, the others at most
  // 128 KiB into a few (zstd's runs; G4 has a bit for a white row).
  void require_possible() {
    const bool unpacked_much = layout_.compression == COMPRESSION_ZSTD || layout_.compression == COMPRESSION_LZMA ||
                               layout_.compression == COMPRESSION_WEBP || layout_.compression == COMPRESSION_LERC || layout_.bits == 1;
    const uint64_t most = source_.bytes.size() * uint64_t{unpacked_much ? 1u << 17 : 1u << 12};
    const uint64_t planes = layout_.planes ? layout_.samples : 1;
    if (layout_.row_bytes(layout_.width) * layout_.height * planes > most) {
      throw FileError(path_, fmt::format("truncated TIFF image: {} bytes cannot hold {}x{} pixels", source_.bytes.size(), layout_.height,
                                         layout_.width));
    }
    if (TIFFIsTiled(file_.get()) == 0) return;
    TIFFGetField(file_.get(), TIFFTAG_TILEWIDTH, &tile_width_);
    TIFFGetField(file_.get(), TIFFTAG_TILELENGTH, &tile_height_);
    require_allowed_size(tile_height_, tile_width_, path_);
    if (layout_.row_bytes(tile_width_) * tile_height_ > most) throw FileError(path_, "corrupt TIFF image: its tiles are larger than it");
  }

  void require_size(uint64_t libtiffs, uint64_t ours) const {
    if (libtiffs != ours) throw unsupported(fmt::format("rows of {} bytes where {} were expected", libtiffs, ours));
  }

  void read_rows(int plane) {
    const uint64_t size = layout_.row_bytes(layout_.width);
    require_size(TIFFScanlineSize64(file_.get()), size);
    packed_.resize(size);
    for (uint32_t y = 0; y < layout_.height; ++y) {
      if (TIFFReadScanline(file_.get(), packed_.data(), y, static_cast<uint16_t>(plane)) < 0 || source_.fault[0] != '\0') throw damaged();
      place(packed_.data(), y, 0, layout_.width, plane);
    }
  }

  void read_tiles(int plane) {
    const uint64_t row = layout_.row_bytes(tile_width_);
    require_size(TIFFTileSize64(file_.get()), row * tile_height_);
    packed_.resize(row * tile_height_);
    for (uint32_t top = 0; top < layout_.height; top += tile_height_) {
      for (uint32_t left = 0; left < layout_.width; left += tile_width_) {
        if (TIFFReadTile(file_.get(), packed_.data(), left, top, 0, static_cast<uint16_t>(plane)) < 0 || source_.fault[0] != '\0')
          throw damaged();
        const uint32_t rows = std::min(tile_height_, layout_.height - top), columns = std::min(tile_width_, layout_.width - left);
        for (uint32_t y = 0; y < rows; ++y) place(packed_.data() + y * row, top + y, left, columns, plane);
      }
    }
  }

  // A sample as 8 bits; an index of a palette as it is.
  uint8_t sample(const uint8_t* row, size_t i) const {
    if (layout_.bits == 8) return row[i];
    if (layout_.bits == 16) {  // in the order of this machine
      uint16_t value = 0;
      std::memcpy(&value, row + 2 * i, 2);
      return samples_.byte_of(value);
    }
    const size_t bit = i * layout_.bits;
    const unsigned most = (1u << layout_.bits) - 1, value = row[bit / 8] >> (8 - layout_.bits - bit % 8) & most;
    return static_cast<uint8_t>(interpretation_ == PHOTOMETRIC_PALETTE ? value : value * 255 / most);
  }

  uint8_t alpha_of(const uint8_t* row, size_t i) const {
    if (layout_.bits != 16) return sample(row, i);
    uint16_t value = 0;
    std::memcpy(&value, row + 2 * i, 2);
    return static_cast<uint8_t>(value >> 8);
  }

  void place(const uint8_t* row, uint32_t y, uint32_t left, uint32_t columns, int plane) {
    uint8_t* out = image_.pixels.data() + (static_cast<size_t>(y) * layout_.width + left) * 3;
    for (size_t x = 0; x < columns; ++x, out += 3) {
      if (layout_.planes && layout_.colours == 3) {
        out[plane] = sample(row, x);
      } else {
        place_pixel(row, x * layout_.samples_a_row(), out);
      }
    }
  }

  void place_pixel(const uint8_t* row, size_t first, uint8_t* out) const {
    const uint8_t value = sample(row, first);
    switch (interpretation_) {
      case PHOTOMETRIC_MINISWHITE:
        std::fill_n(out, 3, static_cast<uint8_t>(255 - value));
        break;
      case PHOTOMETRIC_MINISBLACK:
        std::fill_n(out, 3, value);
        break;
      case PHOTOMETRIC_PALETTE:
        for (size_t c = 0; c < 3; ++c) out[c] = static_cast<uint8_t>(layout_.palette[c][value] >> 8);
        return;
      case PHOTOMETRIC_SEPARATED:
        for (size_t c = 0; c < 3; ++c) out[c] = light_of_ink(sample(row, first + c), 255 - sample(row, first + 3));
        break;
      default:
        for (size_t c = 0; c < 3; ++c) out[c] = sample(row, first + c);
    }
    if (!layout_.premultiplied && !(layout_.alpha && ground_)) return;
    const int alpha = alpha_of(row, first + layout_.colours);
    for (size_t c = 0; layout_.premultiplied && c < 3; ++c)
      out[c] = static_cast<uint8_t>(alpha == 0 ? 0 : std::min(255, 255 * out[c] / alpha));
    for (size_t c = 0; ground_ && c < 3; ++c) out[c] = blended(out[c], alpha, *ground_);
  }

  const std::string& path_;
  TiffSource source_;
  File file_;
  Layout layout_;
  DeepSamples& samples_;
  Ground ground_;
  uint16_t interpretation_ = PHOTOMETRIC_MINISBLACK;
  uint32_t tile_width_ = 0, tile_height_ = 0;
  std::vector<uint8_t> packed_;
  Image image_;
};

}  // namespace

Image decode_tiff(std::span<const uint8_t> bytes, const std::string& path, DeepSamples& samples, const Ground& ground) {
  return TiffDecoder(bytes, path, samples, ground).decode();
}

ImageLook look_at_tiff(const std::string& path) {
  const auto silent = [](TIFF*, void*, const char*, const char*, va_list) { return 1; };
  const std::unique_ptr<TIFFOpenOptions, decltype(&TIFFOpenOptionsFree)> options(TIFFOpenOptionsAlloc(), TIFFOpenOptionsFree);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), silent, nullptr);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), silent, nullptr);
  const File file(TIFFOpenExt(path.c_str(), "rm", options.get()), TIFFClose);  // m: what is not read stays on the disk
  if (file == nullptr) return {};
  uint16_t extra = 0;
  const uint16_t* kinds = nullptr;
  TIFFGetFieldDefaulted(file.get(), TIFFTAG_EXTRASAMPLES, &extra, &kinds);
  return {.deep = tag_of(file.get(), TIFFTAG_BITSPERSAMPLE) == 16,
          .clear = extra > 0 && kinds != nullptr && kinds[0] != EXTRASAMPLE_UNSPECIFIED,
          .more = TIFFLastDirectory(file.get()) == 0};
}

}  // namespace debias
