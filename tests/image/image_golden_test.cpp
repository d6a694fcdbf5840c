// Small files of many kinds against what Pillow reads from them (tests/golden/make_images.py), and the hostile ones beside them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "debias/core/input_file.h"
#include "debias/core/npy.h"
#include "debias/data/data_check.h"
#include "debias/image/image_decode.h"
#include "tests/data/fixture_files.h"
#include "tests/support/golden_folder.h"
#include "tests/support/refusals.h"

namespace debias {
namespace image_golden_test {

using namespace fixture;
using testing::HasSubstr;

namespace fs = std::filesystem;

struct Golden {
  std::string file;  // its name
  int height = 0, width = 0;
  Bytes pixels;
};

std::vector<Golden> load_goldens(const std::string& list) {
  const std::string folder = golden_folder("images");
  const NpyArray all = read_npy(folder + "/pixels.npy");
  const auto about = nlohmann::json::parse(read_file_bytes(folder + "/cases.json"));
  std::vector<Golden> result;
  for (const auto& entry : about.at(list)) {
    Golden golden{entry.at("file"), entry.at("height"), entry.at("width"), {}};
    const auto pixels = all.as<uint8_t>().subspan(entry.at("offset"), size_t{3} * golden.height * golden.width);
    golden.pixels.assign(pixels.begin(), pixels.end());
    result.push_back(std::move(golden));
  }
  return result;
}

const std::vector<Golden>& goldens() {
  static const std::vector<Golden> loaded = load_goldens("cases");
  return loaded;
}

Bytes bytes_of(const std::string& golden) { return read_file_bytes(golden_folder("images") + "/" + golden); }

class EveryKindOfImage : public testing::TestWithParam<size_t> {};

TEST_P(EveryKindOfImage, IsReadAsPillowReadsIt) {
  const Golden& golden = goldens()[GetParam()];
  const Image image = read_image(golden_folder("images") + "/" + golden.file);
  EXPECT_EQ(image.height, golden.height);
  EXPECT_EQ(image.width, golden.width);
  EXPECT_EQ(image.pixels, golden.pixels);
}

INSTANTIATE_TEST_SUITE_P(Pillow, EveryKindOfImage, testing::Range(size_t{0}, goldens().size()), [](const auto& param) {
  std::string name = goldens()[param.param].file;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

TEST(ImageGolden, HasTheKindsThatAreMetInTheWild) { EXPECT_GE(goldens().size(), 74u); }

TEST(ImageGolden, IsTurnedUprightAsPillowsExifTransposeTurnsIt) {
  const std::vector<Golden> upright = load_goldens("upright");
  EXPECT_EQ(upright.size(), 12u);
  for (const Golden& golden : upright) {
    const Image image = read_image(golden_folder("images") + "/" + golden.file, ExifOrientation::kApplied);
    EXPECT_EQ(image.height, golden.height) << golden.file;
    EXPECT_EQ(image.pixels, golden.pixels) << golden.file;
  }
}

// Somebody whom permissions bind, as they do not bind root; root itself where somebody else does not get as far as the folder.
class AsNobody {
 public:
  explicit AsNobody(const std::string& folder) : changed_(geteuid() == 0 && seteuid(65534) == 0) {
    if (changed_ && faccessat(AT_FDCWD, folder.c_str(), R_OK | X_OK, AT_EACCESS) != 0) changed_ = seteuid(0) != 0;
  }
  ~AsNobody() {
    if (changed_ && seteuid(0) != 0) std::abort();
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  bool changed_ = false;
};

class HostileFolder : public testing::Test {
 protected:
  HostileFolder() { chmod(folder_.path().c_str(), 0755); }

  void add_good() {
    for (const Golden& golden : goldens()) write(folder_ / ("a/good/" + golden.file), bytes_of(golden.file));
    write(folder_ / "a/folder.png/within.png", bytes_of("colour.png"));
    write(folder_ / "a/a jpeg.png", bytes_of("colour.jpg"));
    fs::create_directory_symlink("..", folder_ / "a/folder.png/loop");
  }
  void add_bad(const std::string& name, const Bytes& bytes, const std::string& reason) {
    write(folder_ / ("a/" + name), bytes);
    reasons_["a/" + name] = reason;
  }
  void add_cut(const std::string& golden) {  // at a hundred places
    const Bytes whole = bytes_of(golden);
    for (size_t i = 0; i < 100; ++i) {
      const auto length = static_cast<int64_t>(whole.size() * i / 100);
      const std::string reason = length == 0 ? "is empty" : length < 8 ? "" : "truncated";
      add_bad(fmt::format("cut_{:02}_{}", i, golden), Bytes(whole.begin(), whole.begin() + length), reason);
    }
  }

  TemporaryFolder folder_;
  std::map<std::string, std::string> reasons_;
};

Bytes with_word(Bytes bytes, size_t at, uint32_t word) {  // big endian
  for (size_t i = 0; i < 4; ++i) bytes.at(at + i) = static_cast<uint8_t>(word >> (24 - 8 * i));
  return bytes;
}

Bytes png_claiming(uint32_t side) {
  constexpr size_t kHeader = 12, kSize = 16, kChecksum = 29;  // IHDR's type, its first two numbers, its checksum
  Bytes bytes = with_word(with_word(bytes_of("colour.png"), kSize, side), kSize + 4, side);
  return with_word(bytes, kChecksum, static_cast<uint32_t>(crc32(0, bytes.data() + kHeader, kChecksum - kHeader)));
}

Bytes jpeg_claiming(uint32_t side) {
  const Bytes bytes = bytes_of("every_pixel.jpg"), frame = {0xff, 0xc0};
  const auto at = std::search(bytes.begin(), bytes.end(), frame.begin(), frame.end()) + 5;
  return with_word(bytes, static_cast<size_t>(at - bytes.begin()), side << 16 | side);
}

TEST_F(HostileFolder, EachBadFileIsNamedWithItsReasonAndTheOthersAreRead) {
  add_good();
  add_cut("colour.png");
  add_cut("progressive.jpg");
  add_bad("empty.jpg", {}, "is empty");
  add_bad("text.jpg", {'h', 'e', 'l', 'l', 'o'}, "is not an image of a supported format");
  add_bad("huge.png", png_claiming(65500), "65500x65500 pixels, more than");
  add_bad("huge.jpg", jpeg_claiming(65500), "65500x65500 pixels, more than");
  add_bad("checksum.png", with_word(bytes_of("colour.png"), 29, 1), "CRC");
  add_bad("unreadable.png", bytes_of("colour.png"), "Permission denied");
  chmod((folder_ / "a/unreadable.png").c_str(), 0);
  reasons_["a/link.png"] = "symbolic links";
  fs::create_symlink("link.png", folder_ / "a/link.png");

  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  std::optional<DataCheck> check;
  {
    const AsNobody nobody(folder_.path());
    if (access((folder_ / "a/unreadable.png").c_str(), R_OK) == 0 && geteuid() == 0) reasons_.erase("a/unreadable.png");
    check = check_data(*make("{name: image_folder, root: " + folder_.path() + "}"), 2);
  }
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 100 * 1024);  // kilobytes

  const int64_t unbound = 1 - static_cast<int64_t>(reasons_.count("a/unreadable.png"));  // root without the right to be somebody else
  EXPECT_EQ(check->count, static_cast<int64_t>(goldens().size()) + 2 + unbound);
  EXPECT_EQ(check->bad_files.size(), reasons_.size());
  for (const BadFile& bad : check->bad_files) {
    const auto expected = reasons_.find(fs::path(bad.path).lexically_relative(folder_.path()).string());
    ASSERT_NE(expected, reasons_.end()) << bad.path << ": " << bad.reason;
    EXPECT_THAT(bad.reason, HasSubstr(expected->second)) << bad.path;
  }
}

TEST_F(HostileFolder, AnImageWithADamagedChecksumIsRefusedWhereverItIs) {
  const Bytes whole = bytes_of("colour.png");
  const auto word = [&](size_t at) {
    return uint32_t{whole[at]} << 24 | uint32_t{whole[at + 1]} << 16 | uint32_t{whole[at + 2]} << 8 | whole[at + 3];
  };
  int chunks = 0;
  for (size_t at = 8; at + 12 <= whole.size(); ++chunks) {
    const size_t checksum = at + 8 + word(at);
    const std::string message = data_error_of([&] { decode_image(with_word(whole, checksum, word(checksum) ^ 1), "a.png"); });
    EXPECT_THAT(message, HasSubstr("CRC")) << "chunk " << chunks;
    at = checksum + 4;
  }
  EXPECT_GE(chunks, 3);
}

TEST_F(HostileFolder, NamesOfFilesDoNotSteerTheTerminal) {
  write(folder_ / "a/\x1b[31mred\n.png", "text");
  const auto data = make("{name: image_folder, root: " + folder_.path() + "}");
  EXPECT_THAT(data_error_of([&] { data->get(0); }), testing::Not(testing::AnyOf(HasSubstr("\x1b"), HasSubstr("\n"))));
}

}  // namespace image_golden_test
}  // namespace debias
