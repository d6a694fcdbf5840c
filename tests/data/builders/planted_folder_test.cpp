// Planted shortcuts: what is written, how often, and the same for the same seed.
#include "debias/data/builders/planted_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "debias/core/input_file.h"
#include "debias/data/jpeg_encode.h"
#include "debias/data/readers/csv_table.h"
#include "debias/image/exif.h"
#include "debias/image/image_decode.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace planted_folder_test {

namespace fs = std::filesystem;
using testing::HasSubstr;

using Files = std::map<std::string, std::vector<uint8_t>>;

Files files_below(const std::string& folder) {
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files[fs::relative(entry.path(), folder).generic_string()] = read_file_bytes(entry.path().string());
  }
  return files;
}

class PlantedFolderTest : public testing::Test {
 protected:
  PlantedFolderTest() {
    for (const char* split : {"train", "test"}) {
      for (int k = 0; k < 3; ++k) {
        for (int i = 0; i < 20; ++i) add(fs::path(split) / std::string(1, static_cast<char>('a' + k)), i);
      }
    }
  }
  void add(const fs::path& folder, int number) const {
    fs::create_directories(source() / folder);
    Image image{33, 40, 3, std::vector<uint8_t>(33 * 40 * 3)};
    for (size_t i = 0; i < image.pixels.size(); ++i)
      image.pixels[i] = static_cast<uint8_t>((i * 7 + static_cast<size_t>(number) * 31) % 200);
    const auto bytes = encode_jpeg(image, 95);
    std::ofstream(source() / folder / (std::to_string(number) + ".jpg"), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  }
  fs::path source() const { return fs::path(folder_.path()) / "photos"; }
  std::string out(const std::string& name) const { return folder_.path() + "/" + name; }
  PlantedFolder plant(PlantKind kind, const std::string& name, int64_t seed = 1, double correlation = 0.8) const {
    return plant_shortcut(kind, PlantOptions{.correlation = correlation, .seed = seed}, source().string(), out(name));
  }

  TemporaryFolder folder_;
};

TEST_F(PlantedFolderTest, EveryKindWritesTheSameFilesForTheSameSeedAndOthersForAnother) {
  for (const auto& [name, kind] : EnumNames<PlantKind>::values) {
    const std::string word(name);
    plant(kind, word + "1");
    plant(kind, word + "2");
    plant(kind, word + "3", 2);
    EXPECT_EQ(files_below(out(word + "1")), files_below(out(word + "2"))) << word;
    EXPECT_NE(files_below(out(word + "1")), files_below(out(word + "3"))) << word;
  }
}

TEST_F(PlantedFolderTest, TrainHasTheCorrelationAndTestEveryValueEquallyOften) {
  const PlantedFolder made = plant(PlantKind::kSquare, "square");
  EXPECT_EQ(made.images, 60);
  EXPECT_EQ(made.aligned, 48);
  EXPECT_EQ(made.others, 60);
  std::map<std::string, int> aligned, rows;
  for (const CsvRecord& record : read_csv(out("square") + "/planted.csv")) {
    if (record.fields[0] == "path") continue;
    EXPECT_TRUE(fs::exists(out("square") + "/" + record.fields[0])) << record.fields[0];
    const std::string split = record.fields[0].substr(0, record.fields[0].find('/'));
    ++rows[split];
    aligned[split] += record.fields[1] == record.fields[2] ? 1 : 0;
  }
  EXPECT_EQ(rows, (std::map<std::string, int>{{"train", 60}, {"test", 60}}));
  EXPECT_EQ(aligned, (std::map<std::string, int>{{"train", 48}, {"test", 18}}));  // 6 of 20: floor(20 / 3)
}

TEST_F(PlantedFolderTest, FileKindsKeepThePixelsAndChangeWhatTheySay) {
  plant(PlantKind::kExif, "exif");
  plant(PlantKind::kName, "name");
  plant(PlantKind::kColumn, "column");
  const auto original = read_image((source() / "train/a/0.jpg").string()).pixels;
  EXPECT_EQ(read_image(out("exif") + "/train/a/0.jpg").pixels, original);
  std::set<std::string> cameras, prefixes, sites;
  for (const auto& [path, bytes] : files_below(out("exif"))) {
    if (path.ends_with(".jpg")) cameras.insert(exif_camera(bytes));
  }
  EXPECT_EQ(cameras, (std::set<std::string>{"Maker 1", "Maker 2", "Maker 3"}));
  for (const auto& [path, bytes] : files_below(out("name"))) {
    const std::string name = fs::path(path).filename().string();
    if (name.ends_with(".jpg")) prefixes.insert(name.substr(0, name.find('_')));
  }
  EXPECT_EQ(prefixes, (std::set<std::string>{"scan", "photo", "image"}));
  for (const CsvRecord& record : read_csv(out("column") + "/columns.csv")) sites.insert(record.fields[2]);
  EXPECT_EQ(sites, (std::set<std::string>{"site", "site1", "site2", "site3"}));
}

TEST_F(PlantedFolderTest, RefusesAFolderThatExistsOrHasOneClassAndLeavesNothingBehind) {
  fs::create_directories(out("there"));
  EXPECT_THAT(usage_error_of([&] { plant(PlantKind::kBlur, "there"); }), HasSubstr("exists already"));
  EXPECT_THAT(usage_error_of([&] { plant(PlantKind::kBlur, "photos/in"); }), HasSubstr("is inside the data folder"));
  const std::string one = out("one");
  fs::create_directories(one);
  fs::copy(source() / "train/a", one + "/a");
  EXPECT_THAT(data_error_of([&] { plant_shortcut(PlantKind::kBlur, {}, one, out("new")); }), HasSubstr("the folder has one class"));
  std::ofstream(source() / "train/a/0.jpg") << "damaged";
  EXPECT_THAT(data_error_of([&] { plant(PlantKind::kBlur, "new"); }), HasSubstr("0.jpg"));
  EXPECT_FALSE(fs::exists(out("new")));
  EXPECT_EQ(folder_.entries(), 3u);
}

}  // namespace planted_folder_test
}  // namespace debias
