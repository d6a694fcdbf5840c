// Which files count as images, and hostile files of the formats beside JPEG and PNG (image_decode_test.cpp has those).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/core/philox.h"
#include "debias/image/image_decode.h"
#include "debias/image/image_encode.h"
#include "tests/data/fixture_files.h"
#include "tests/support/golden_folder.h"
#include "tests/support/refusals.h"

namespace debias {
namespace image_format_test {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

using namespace fixture;

Bytes golden(const std::string& name) { return read_file_bytes(golden_folder("images") + "/" + name); }

Bytes text(const std::string& words) { return Bytes(words.begin(), words.end()); }

std::string refusal(const Bytes& bytes) {
  return data_error_of([&] { decode_image(bytes, "a.img"); });
}

// Names and bytes of the golden files of the formats tested here.
const std::map<std::string, Bytes>& files() {
  static const auto loaded = [] {
    std::map<std::string, Bytes> found;
    for (const auto& entry : std::filesystem::directory_iterator(golden_folder("images"))) {
      const std::string name = entry.path().filename().string(), ending = ending_of(name);
      if (has_image_extension(name) && ending != ".jpg" && ending != ".png") found[name] = golden(name);
    }
    return found;
  }();
  return loaded;
}

TEST(ImageExtension, CountsInAnyCase) {
  for (const char* name :
       {"a.jpg", "a.JPEG", "b.c.Png", "a.webp", "a.TIF", "a.tiff", "a.bmp", "a.ppm", "a.pgm", "a.pnm", "a.pbm", "a.jfif"}) {
    EXPECT_TRUE(has_image_extension(name)) << name;
    EXPECT_FALSE(has_unread_image_extension(name)) << name;
  }
  for (const char* name : {"a.gif", "a.HEIC", "a.avif", "a.jp2", "a.svg", "a.psd", "a.dng", "a.raw"}) {
    EXPECT_FALSE(has_image_extension(name)) << name;
    EXPECT_TRUE(has_unread_image_extension(name)) << name;
  }
  for (const char* name : {"a.txt", "jpg", "a.jpg.bak", "", "."}) {
    EXPECT_FALSE(has_image_extension(name)) << name;
    EXPECT_FALSE(has_unread_image_extension(name)) << name;
  }
}

TEST(ImageFormat, ThatIsKnownButNotReadIsNamed) {
  EXPECT_EQ(refusal(text("GIF89a......")),
            "a.img: is an image in the unsupported format GIF; supported are JPEG, PNG, WebP, TIFF, BMP and PNM");
  EXPECT_THAT(refusal(text(std::string("\0\0\0\x18", 4) + "ftypheic....")), HasSubstr("in the unsupported format HEIC;"));
  EXPECT_THAT(refusal(text(std::string("\0\0\0\x1c", 4) + "ftypavif....")), HasSubstr("in the unsupported format AVIF;"));
  EXPECT_THAT(refusal(text("8BPS")), HasSubstr("in the unsupported format Photoshop;"));
  EXPECT_THAT(refusal(text("RIFF....WAVE")), HasSubstr("is not an image of a supported format"));
  EXPECT_THAT(refusal(text("P7")), HasSubstr("it begins with 50 37"));
}

TEST(OtherFormats, AreRefusedOrWholeWhereverAFileIsCut) {
  EXPECT_GE(files().size(), 40u);
  for (const auto& [name, whole] : files()) {
    if (name == "plain.ppm" || name == "plain.pgm") continue;  // the digits of the last number may be fewer
    const Image image = decode_image(whole, name);
    size_t refused = 0;
    for (size_t length = 0; length < whole.size(); ++length) {
      try {
        const Image cut = decode_image({whole.data(), length}, name);
        ASSERT_EQ(cut.pixels, image.pixels) << name << " cut to " << length << " of " << whole.size();
      } catch (const Error& error) {
        ASSERT_EQ(error.kind(), ErrorKind::kData);
        ASSERT_THAT(error.what(), testing::StartsWith(name + ": "));
        ++refused;
      }
    }
    EXPECT_GT(refused, whole.size() / 3) << name;
  }
}

TEST(EveryFormat, SurvivesRandomDamage) {
  uint32_t state = 1;
  const auto next = [&](size_t n) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % n;
  };
  int refused = 0;
  std::map<std::string, Bytes> all = files();
  for (const char* name : {"colour.png", "interlaced.png", "palette_with_alpha.png", "colour.jpg", "progressive.jpg", "cmyk.jpg"}) {
    all[name] = golden(name);
  }
  for (const auto& [name, whole] : all) {
    for (int round = 0; round < 150; ++round) {
      Bytes bytes = whole;
      if (next(8) == 0) bytes.resize(1 + next(bytes.size()));
      for (size_t hits = 1 + next(4); hits > 0; --hits)
        bytes[next(round % 2 == 0 ? std::min<size_t>(bytes.size(), 64) : bytes.size())] = static_cast<uint8_t>(next(256));
      try {
        const Image image = decode_image(bytes, name, ExifOrientation::kApplied);
        ASSERT_EQ(image.pixels.size(), static_cast<size_t>(image.height) * image.width * 3);
      } catch (const Error& error) {
        ASSERT_EQ(error.kind(), ErrorKind::kData) << error.what();
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 500);
}

Bytes with_bytes(Bytes bytes, size_t at, const Bytes& those) {
  std::copy(those.begin(), those.end(), bytes.begin() + static_cast<ptrdiff_t>(at));
  return bytes;
}

Bytes little(uint32_t value, size_t size) {
  Bytes bytes;
  for (size_t i = 0; i < size; ++i) bytes.push_back(static_cast<uint8_t>(value >> 8 * i));
  return bytes;
}

Bytes tiff_claiming(uint32_t side) {  // its first two tags are width and height
  const Bytes bytes = golden("planes.tif");
  const size_t directory = bytes[4] | static_cast<size_t>(bytes[5]) << 8;
  return with_bytes(with_bytes(bytes, directory + 10, little(side, 2)), directory + 22, little(side, 2));
}
Bytes bmp_claiming(uint32_t side) { return with_bytes(with_bytes(golden("colour.bmp"), 18, little(side, 4)), 22, little(side, 4)); }
Bytes ppm_claiming(uint32_t side) { return text(fmt::format("P6 {0} {0} 255\n123", side)); }

TEST(OtherFormats, SetNothingAsideForHeadersThatCannotBeTrue) {
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  for (const auto& claiming : {tiff_claiming, bmp_claiming, ppm_claiming}) {
    EXPECT_THAT(refusal(claiming(65500)), HasSubstr("65500x65500 pixels, more than the 178956970 allowed"));
    EXPECT_THAT(refusal(claiming(13000)), HasSubstr("truncated"));
    EXPECT_THAT(refusal(claiming(0)), AnyOf(HasSubstr("without pixels"), HasSubstr("corrupt")));
  }
  EXPECT_THAT(refusal(with_bytes(golden("lossless.webp"), 21, {0xff, 0xff, 0xff, 0x0f})), HasSubstr("16384x16384 pixels, more than"));
  EXPECT_THAT(refusal(text("P5 99999999999999999999 1 255\n")), HasSubstr("a number above 1000000000"));
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 100 * 1024);  // kilobytes
}

TEST(OtherFormats, SayWhatTheyDoNotRead) {
  EXPECT_THAT(refusal(with_bytes(golden("colour.bmp"), 28, {2, 0})), HasSubstr("unsupported BMP image: 2 bits a pixel with compression 0"));
  EXPECT_THAT(refusal(with_bytes(golden("colour.bmp"), 30, {4})), HasSubstr("24 bits a pixel with compression 4"));
  EXPECT_THAT(refusal(with_bytes(golden("colour.bmp"), 14, {41 + 100})), HasSubstr("a header of 141 bytes"));
  EXPECT_THAT(refusal(with_bytes(golden("masks.bmp"), 54, {0xff, 0xff})), HasSubstr("the mask ff00ffff of a colour"));
  EXPECT_THAT(refusal(with_bytes(golden("palette.bmp"), 46, {1, 0, 0, 0})), HasSubstr("of a palette of 1"));
  const Bytes floats = [] {
    Bytes bytes = golden("premultiplied.tif");  // its last tag, 338, becomes 339: the kind of number, here floating
    const Bytes tag = {0x52, 0x01};
    const auto at = std::search(bytes.begin(), bytes.end(), tag.begin(), tag.end());
    *at = 0x53;
    at[8] = 3;
    return bytes;
  }();
  EXPECT_THAT(refusal(floats), HasSubstr("unsupported TIFF image: samples of 8 bits that are not whole numbers"));
  EXPECT_THAT(refusal(text("P2 1 1 0 0 ")), HasSubstr("the largest value is 0"));
  EXPECT_THAT(refusal(text("P2 1 1 9 x ")), HasSubstr("a number was expected, found byte 78"));
  EXPECT_THAT(refusal(text("P2 1 1 9 10 ")), HasSubstr("a number above 9"));
  EXPECT_THAT(refusal(text("P1 1 1 2 ")), HasSubstr("0 or 1 was expected"));
}

size_t chunk_data(const Bytes& webp, const std::string& kind) {
  return static_cast<size_t>(std::search(webp.begin(), webp.end(), kind.begin(), kind.end()) - webp.begin()) + 8;
}

TEST(WebP, AFirstFrameMayCoverPartOfThePicture) {
  const Bytes whole = golden("animated.webp");
  const Image frame = decode_image(whole, "a.webp");
  const auto W = static_cast<uint32_t>(frame.width), H = static_cast<uint32_t>(frame.height);
  const size_t canvas = chunk_data(whole, "VP8X") + 4, place = chunk_data(whole, "ANMF");
  Bytes larger = with_bytes(with_bytes(whole, canvas, little(W + 3 - 1, 3)), canvas + 3, little(H + 5 - 1, 3));
  larger = with_bytes(with_bytes(larger, place, little(1, 3)), place + 3, little(2, 3));  // two to the right, four down
  const Image image = decode_image(larger, "a.webp");
  ASSERT_EQ(image.width, frame.width + 3);
  ASSERT_EQ(image.height, frame.height + 5);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const bool inside = x >= 2 && x < 2 + frame.width && y >= 4 && y < 4 + frame.height;
      for (int c = 0; c < 3; ++c) {
        const int expected = inside ? frame.pixels[static_cast<size_t>(((y - 4) * frame.width + x - 2) * 3 + c)] : 0;
        ASSERT_EQ(image.pixels[static_cast<size_t>((y * image.width + x) * 3 + c)], expected) << x << ", " << y;
      }
    }
  }
}

TEST(WebP, DamageIsNoticedInPixelsAndBetweenThem) {
  Bytes pixels = golden("lossless.webp");
  std::fill(pixels.begin() + static_cast<ptrdiff_t>(chunk_data(pixels, "VP8L") + 5), pixels.end(), 0xff);  // behind the size
  EXPECT_EQ(refusal(pixels), "a.img: corrupt or truncated WebP image: damaged data");
  const Bytes animation = golden("animated.webp");
  EXPECT_EQ(refusal({animation.begin(), animation.end() - 10}), "a.img: truncated WebP image");  // in its last frame
  EXPECT_EQ(refusal(with_bytes(animation, 16, little(0xfffffff0, 4))), "a.img: corrupt or truncated WebP image");
}

// A reader of GIF as the format's page has it, for what encode_gif writes.
class GifReader {
 public:
  explicit GifReader(const std::vector<uint8_t>& bytes) : bytes_(bytes) {}

  std::vector<Image> pictures() {
    at_ = 6;
    const int width = pair(), height = pair();
    at_ += 3;
    for (auto& value : palette_) value = byte();
    Image shown{.height = height, .width = width, .channels = 3, .pixels = std::vector<uint8_t>(static_cast<size_t>(3) * width * height)};
    std::vector<Image> all;
    int transparent = -1;
    while (true) {
      const int mark = byte();
      if (mark == 0x3B) return all;
      if (mark == 0x21) {
        const int label = byte();
        const std::vector<uint8_t> block = blocks();
        if (label == 0xF9) {
          transparent = block[3];
          delay = block[1] | block[2] << 8;
        }
        continue;
      }
      at_ += 9;
      const int first_bits = byte();
      draw(unpacked(blocks(), first_bits), transparent, shown);
      all.push_back(shown);
    }
  }

  int delay = 0;

 private:
  int byte() { return bytes_.at(at_++); }
  int pair() {
    const int low = byte();
    return low | byte() << 8;
  }
  std::vector<uint8_t> blocks() {
    std::vector<uint8_t> all;
    for (int size = byte(); size != 0; size = byte()) {
      for (int i = 0; i < size; ++i) all.push_back(static_cast<uint8_t>(byte()));
    }
    return all;
  }

  static std::vector<uint8_t> unpacked(const std::vector<uint8_t>& data, int first_bits) {
    const int clear = 1 << first_bits;
    std::vector<std::vector<uint8_t>> table;
    std::vector<uint8_t> out, last;
    int bits = first_bits + 1;
    const auto restart = [&] {
      table.assign(static_cast<size_t>(clear) + 2, {});
      for (int i = 0; i < clear; ++i) table[static_cast<size_t>(i)] = {static_cast<uint8_t>(i)};
      bits = first_bits + 1;
      last.clear();
    };
    restart();
    size_t place = 0;
    const auto next = [&] {
      int code = 0;
      for (int i = 0; i < bits; ++i, ++place) code |= (data.at(place / 8) >> (place % 8) & 1) << i;
      return code;
    };
    for (int code = next(); code != clear + 1; code = next()) {
      if (code == clear) {
        restart();
        continue;
      }
      std::vector<uint8_t> word = code < static_cast<int>(table.size()) ? table[static_cast<size_t>(code)] : last;
      if (code >= static_cast<int>(table.size())) word.push_back(last.front());
      if (!last.empty() && table.size() < 4096) {
        last.push_back(word.front());
        table.push_back(last);
        if (static_cast<int>(table.size()) == 1 << bits && bits < 12) ++bits;
      }
      out.insert(out.end(), word.begin(), word.end());
      last = std::move(word);
    }
    return out;
  }

  void draw(const std::vector<uint8_t>& indices, int transparent, Image& shown) const {
    ASSERT_EQ(3 * indices.size(), shown.pixels.size());
    for (size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] == transparent) continue;
      for (size_t c = 0; c < 3; ++c) shown.pixels[3 * i + c] = static_cast<uint8_t>(palette_[3 * static_cast<size_t>(indices[i]) + c]);
    }
  }

  const std::vector<uint8_t>& bytes_;
  size_t at_ = 0;
  std::array<int, 768> palette_{};
};

// `colours` different ones, no two within 8 levels of each other; more than the 4,096 codes of a table where the picture is large.
Image random_picture(int size, int colours, uint64_t seed) {
  Random draws({.domain = RngDomain::kTest, .seed = seed});
  Image picture{.height = size, .width = size, .channels = 3, .pixels = {}};
  for (int i = 0; i < size * size; ++i) {
    const auto colour = static_cast<int>(draws.below(colours));
    for (const int part : {colour % 8, colour / 8 % 8, colour / 64 % 8}) picture.pixels.push_back(static_cast<uint8_t>(32 * part + 3));
  }
  return picture;
}

TEST(GifEncodeTest, PicturesOfFewColoursComeBackAsTheyWere) {
  const std::vector<Image> pictures = {random_picture(97, 200, 1), random_picture(97, 200, 2), random_picture(97, 200, 2),
                                       random_picture(97, 2, 3)};
  const auto bytes = encode_gif(pictures, 8);
  GifReader reader(bytes);
  const auto found = reader.pictures();
  ASSERT_EQ(found.size(), pictures.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].pixels, pictures[i].pixels) << "picture " << i;
  EXPECT_EQ(reader.delay, 8);
}

TEST(GifEncodeTest, OfMoreColoursThanItHasEachPixelIsNearItsOwn) {
  Random draws({.domain = RngDomain::kTest, .seed = 5});
  Image picture{.height = 64, .width = 64, .channels = 3, .pixels = std::vector<uint8_t>(3 * 64 * 64)};
  for (auto& value : picture.pixels) value = static_cast<uint8_t>(draws.below(256));
  const auto bytes = encode_gif({picture}, 1);
  GifReader reader(bytes);
  const auto found = reader.pictures();
  int64_t sum = 0;
  for (size_t i = 0; i < picture.pixels.size(); ++i) sum += std::abs(picture.pixels[i] - found[0].pixels[i]);
  EXPECT_LT(static_cast<double>(sum) / static_cast<double>(picture.pixels.size()), 15);  // 256 colours halve the cube about 8 times
  EXPECT_EQ(reader.delay, 2);
}

TEST(GifEncodeTest, RefusesNoPicturesGreyOnesAndSeveralSizes) {
  EXPECT_THROW(encode_gif({}, 5), Error);
  EXPECT_THROW(encode_gif({Image{.height = 1, .width = 1, .channels = 1, .pixels = {7}}}, 5), Error);
  EXPECT_THROW(encode_gif({random_picture(4, 3, 1), random_picture(5, 3, 1)}, 5), Error);
}

}  // namespace image_format_test
}  // namespace debias
