#include "debias/image/image_encode.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "debias/core/error.h"
#include "debias/core/philox.h"

namespace debias {
namespace gif_encode_test {

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

}  // namespace gif_encode_test
}  // namespace debias
