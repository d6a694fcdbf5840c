// Biases that are put on images: how they are assigned, Biased MNIST, and folders with a planted one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "debias/core/input_file.h"
#include "debias/data/builders/bias_assignment.h"
#include "debias/data/builders/biased_mnist.h"
#include "debias/data/builders/planted_folder.h"
#include "debias/data/jpeg_encode.h"
#include "debias/data/readers/csv_table.h"
#include "debias/data/readers/mnist.h"
#include "debias/image/exif.h"
#include "debias/image/image_decode.h"
#include "tests/data/fixture_files.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace biased_images_test {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

// Labels of n_c images of each class c, interleaved.
std::vector<int64_t> labels_with(std::vector<int64_t> counts) {
  std::vector<int64_t> labels;
  for (bool any = true; any;) {
    any = false;
    for (size_t c = 0; c < counts.size(); ++c) {
      if (counts[c] == 0) continue;
      --counts[c];
      any = true;
      labels.push_back(static_cast<int64_t>(c));
    }
  }
  return labels;
}

const std::vector<int64_t> kMnistTrain = {5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949};
const std::vector<int64_t> kMnistTest = {980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009};

int64_t conflicts(const std::vector<int64_t>& labels, const std::vector<int64_t>& biases) {
  int64_t count = 0;
  for (size_t i = 0; i < labels.size(); ++i) count += labels[i] != biases[i] ? 1 : 0;
  return count;
}

TEST(BiasAssignment, GivesThePublishedCountsOfBiasedMnist) {
  const auto train = labels_with(kMnistTrain);
  for (const auto& [correlation, expected] :
       {std::pair{0.999, 63}, {0.997, 184}, {0.995, 305}, {0.99, 606}, {0.95, 3006}, {0.9, 6006}, {1.0, 0}, {0.0, 60000}}) {
    EXPECT_EQ(conflicts(train, assign_biases(train, 10, correlation, {})), expected) << correlation;
  }
  const auto test = labels_with(kMnistTest);
  EXPECT_EQ(conflicts(test, assign_biases(test, 10, 0.1, {})), 9004);
}

// 100 images a class at 0.79: 79 aligned, 21 left in chunks of ceil(21 / 9) = 3, so that seven of the nine other biases get 3 each.
TEST(BiasAssignment, CutsTheRestIntoEqualChunks) {
  const auto labels = labels_with(std::vector<int64_t>(10, 100));
  const auto biases = assign_biases(labels, 10, 0.79, {});
  std::map<std::pair<int64_t, int64_t>, int64_t> cells;
  for (size_t i = 0; i < labels.size(); ++i) ++cells[{labels[i], biases[i]}];
  for (int64_t label = 0; label < 10; ++label) {
    std::vector<int64_t> row;
    for (int64_t bias = 0; bias < 10; ++bias) {
      const int64_t images = cells[{label, bias}];
      if (label == bias) {
        EXPECT_EQ(images, 79);
      } else {
        row.push_back(images);
      }
    }
    EXPECT_THAT(row, testing::UnorderedElementsAre(3, 3, 3, 3, 3, 3, 3, 0, 0)) << label;
  }
}

TEST(BiasAssignment, MembershipIsRandomAndAFunctionOfTheKey) {
  const auto labels = labels_with({200, 200, 200});
  RngKey key;
  key.seed = 7;
  const auto first = assign_biases(labels, 3, 0.5, key);
  EXPECT_EQ(first, assign_biases(labels, 3, 0.5, key));
  RngKey other_seed = key, other_split = key;
  other_seed.seed = 8;
  other_split.epoch = 1;
  EXPECT_NE(first, assign_biases(labels, 3, 0.5, other_seed));
  EXPECT_NE(first, assign_biases(labels, 3, 0.5, other_split));
  int64_t aligned_in_front = 0;  // of the first half: 150 expected of 300; 5 standard deviations are 43
  for (size_t i = 0; i < labels.size() / 2; ++i) aligned_in_front += labels[i] == first[i] ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(aligned_in_front), 150, 43);
}

TEST(BiasAssignment, TakesClassesWithoutImages) {
  EXPECT_TRUE(assign_biases({}, 10, 0.5, {}).empty());
  EXPECT_THAT(assign_biases({1}, 2, 0.99, {}), testing::ElementsAre(0));  // floor(0.99) aligned images
}

using namespace fixture;
using Rgb = std::array<int, 3>;

const std::array<Rgb, 9> kNine = {
    {{255, 0, 0}, {0, 255, 0}, {0, 0, 255}, {225, 225, 0}, {225, 0, 225}, {0, 255, 255}, {255, 128, 0}, {255, 0, 128}, {128, 0, 255}}};

class BiasedMnistTest : public testing::Test {
 protected:
  BiasedMnistTest() { write_mnist(folder_.path(), 200, 100); }
  BiasedMnistOptions options() const { return BiasedMnistOptions{.root = folder_.path()}; }

  TemporaryFolder folder_;
};

int64_t aligned(const Dataset& data) {
  int64_t count = 0;
  for (int64_t i = 0; i < data.size(); ++i) count += data.label(i) == data.bias(i) ? 1 : 0;
  return count;
}

std::unique_ptr<Dataset> with_hold_out(BiasedMnistOptions options, int64_t count) {
  options.hold_out.count = count;
  return make_biased_mnist(options);
}

TEST_F(BiasedMnistTest, PaintsZeroPixelsInTheBiasColourAndTheRestWhite) {
  const auto digits = make_mnist(MnistOptions{.root = folder_.path()});
  for (const MnistPalette palette : {MnistPalette::kUsc, MnistPalette::kBahng}) {
    const auto data = make_biased_mnist(BiasedMnistOptions{.root = folder_.path(), .correlation = 0.2, .palette = palette});
    std::set<int64_t> seen;
    for (int64_t i = 0; i < data->size(); ++i) {
      const Sample sample = data->get(i);
      seen.insert(sample.bias);
      const Rgb last = palette == MnistPalette::kUsc ? Rgb{50, 255, 128} : Rgb{128, 128, 128};
      const Rgb colour = sample.bias == 9 ? last : kNine[static_cast<size_t>(sample.bias)];
      const Image grey = digits->get(i).image;
      ASSERT_EQ(sample.image.pixels.size(), 3 * grey.pixels.size());
      EXPECT_EQ(sample.label, digits->label(i));
      for (size_t p = 0; p < grey.pixels.size(); ++p) {
        for (size_t c = 0; c < 3; ++c) ASSERT_EQ(sample.image.pixels[3 * p + c], grey.pixels[p] == 0 ? colour[c] : 255);
      }
    }
    EXPECT_EQ(seen.size(), 10u);
  }
}

TEST_F(BiasedMnistTest, HoldsOutBeforeColouring) {
  const auto train = with_hold_out(BiasedMnistOptions{.root = folder_.path(), .correlation = 0.8}, 50);
  const auto held = with_hold_out(BiasedMnistOptions{.root = folder_.path(), .split = FolderSplit::kHeldOut, .correlation = 0.2}, 50);
  ASSERT_EQ(train->size(), 150);
  ASSERT_EQ(held->size(), 50);
  EXPECT_EQ(aligned(*train), 120);  // of 15 a class, 12
  EXPECT_EQ(aligned(*held), 10);    // of 5 a class, 1
  const auto again = with_hold_out(BiasedMnistOptions{.root = folder_.path(), .split = FolderSplit::kHeldOut, .correlation = 0.9}, 50);
  std::set<int64_t> ids;
  for (int64_t i = 0; i < train->size(); ++i) ids.insert(train->id(i));
  for (int64_t i = 0; i < held->size(); ++i) {
    ids.insert(held->id(i));
    EXPECT_EQ(held->id(i), again->id(i));  // whatever the correlation
  }
  EXPECT_EQ(ids.size(), 200u);
  EXPECT_EQ(held->info().split, "held_out");
}

TEST_F(BiasedMnistTest, SaysItsConstants) {
  const auto data = make_biased_mnist(BiasedMnistOptions{.root = folder_.path(), .split = FolderSplit::kTest});
  EXPECT_EQ(data->size(), 100);
  EXPECT_THAT(data->info().mean, testing::ElementsAre(0.5, 0.5, 0.5));
  EXPECT_THAT(data->info().std, testing::ElementsAre(0.5, 0.5, 0.5));
  EXPECT_EQ(data->info().channels, 3);
  EXPECT_EQ(data->info().bias_names.size(), 10u);
  EXPECT_EQ(data->source(3), "t10k-images-idx3-ubyte record 3");
}

TEST_F(BiasedMnistTest, RefusesWhatItCannotDo) {
  const std::string root = ", root: " + folder_.path() + "}";
  for (const std::string value : {"-0.1", "1.01", ".inf"}) {
    EXPECT_THAT(usage_error_of([&] { make("{name: biased_mnist, correlation: " + value + root); }), HasSubstr("[0, 1]"));
  }
  EXPECT_THAT(usage_error_of([&] { make("{name: biased_mnist, palette: usd" + root); }), HasSubstr("did you mean 'usc'"));
  EXPECT_THAT(usage_error_of([&] { make("{name: biased_mnist, split: valid" + root); }), HasSubstr("held_out"));
  EXPECT_THAT(usage_error_of([&] { make("{name: biased_mnist, split: heldout" + root); }), HasSubstr("held_out"));
  const TemporaryFolder wrong;
  write(wrong / "cat/1.png", encode_png(solid(2, 2, 1, 2, 3)));
  EXPECT_THAT(data_error_of([&] { make("{name: biased_mnist, root: " + wrong.path() + "}"); }),
              AllOf(HasSubstr(wrong.path()), HasSubstr("train-images-idx3-ubyte"), HasSubstr("align")));
}

TEST(BiasedMnistRealData, HasThePublishedCounts) {
  const char* base = std::getenv("DEBIAS_TEST_DATA");
  const std::string root = std::string(base != nullptr ? base : "../shared/data") + "/mnist";
  if (!std::filesystem::exists(root)) GTEST_SKIP() << "no " << root << "; set DEBIAS_TEST_DATA";
  const auto conflicting = [&](const BiasedMnistOptions& options) {
    const auto data = make_biased_mnist(options);
    return data->size() - aligned(*data);
  };
  for (const auto& [correlation, expected] : {std::pair{0.999, 63}, {0.997, 184}, {0.995, 305}, {0.99, 606}, {0.95, 3006}, {0.9, 6006}}) {
    EXPECT_EQ(conflicting({.root = root, .correlation = correlation}), expected) << correlation;
  }
  EXPECT_EQ(conflicting({.root = root, .split = FolderSplit::kTest}), 9004);
}

// Planted shortcuts: what is written, how often, and the same for the same seed.

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

}  // namespace biased_images_test
}  // namespace debias
