#include "debias/data/fingerprint.h"
#include "debias/data/dataset_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/fixture_files.h"
#include "tests/support/refusals.h"

namespace debias {
namespace fingerprint_test {

using namespace fixture;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace fs = std::filesystem;

DataFingerprint taken(const std::string& yaml, Verify verify = Verify::kListing) {
  const ChosenData data = read_data(parse_yaml(yaml, "r.yaml"));
  return fingerprint(*data.make_images(), data, verify);
}

// Twelve images of two classes; no file is as long as another.
class FolderFingerprint : public testing::Test {
 protected:
  FolderFingerprint() {
    for (int i = 0; i < 12; ++i) write(path(i), std::string(static_cast<size_t>(20 + i), 'x'));
  }
  static std::string name(int i) { return (i < 6 ? "cat/" : "dog/") + std::to_string(10 + i) + ".png"; }
  std::string path(int i) const { return folder_ / ("photos/" + name(i)); }
  DataFingerprint take(Verify verify = Verify::kListing, const std::string& more = "") const {
    return taken("{name: image_folder, root: " + (folder_ / "photos") + more + "}", verify);
  }
  DataFingerprint take_labelled(const std::string& csv) const {
    write(folder_ / "l.csv", csv);
    return take(Verify::kListing, ", labels: {file: " + (folder_ / "l.csv") + ", label: species}");
  }
  static std::string csv(const std::string& eleventh) {
    std::string text = "path,species,bias\n";
    for (int i = 0; i < 12; ++i) text += name(i) + "," + (i == 11 ? eleventh : i < 6 ? "cat" : "dog") + ",red\n";
    return text;
  }

  TemporaryFolder folder_;
};

TEST_F(FolderFingerprint, TheSameFolderHasNoDifferences) {
  EXPECT_THAT(differences(take(), take()), IsEmpty());
  EXPECT_THAT(differences(take(Verify::kContents), take(Verify::kContents)), IsEmpty());
  EXPECT_THAT(differences(take(Verify::kContents), take()), IsEmpty());
  EXPECT_THAT(differences(take(), take(Verify::kContents)), IsEmpty());
}

TEST_F(FolderFingerprint, NamesTheFirstThreeDifferingImages) {
  const auto then = take();
  fs::remove(path(0));
  fs::remove(path(1));
  write(folder_ / "photos/dog/new.png", "y");
  write(path(8), "four");
  EXPECT_THAT(differences(then, take()),
              ElementsAre("dog/18.png has 28 bytes then, 4 now", "cat/10.png is missing", "cat/11.png is missing", "and 1 more"));
  EXPECT_THAT(differences(then, take(), 10), testing::Contains("dog/new.png is new"));
}

TEST_F(FolderFingerprint, ARenamedClassIsNamed) {
  const auto then = take();
  fs::rename(folder_ / "photos/dog", folder_ / "photos/hound");
  EXPECT_THAT(differences(then, take()), ElementsAre("classes: 2 then, 2 now; 'dog' is gone; 'hound' is new", "dog/16.png is missing",
                                                     "dog/17.png is missing", "and 10 more"));
}

TEST_F(FolderFingerprint, ANewClassDoesNotBlameTheImagesItRenumbers) {
  const auto then = take();
  write(folder_ / "photos/ant/1.png", "x");
  EXPECT_THAT(differences(then, take()), ElementsAre("classes: 2 then, 3 now; 'ant' is new", "ant/1.png is new"));
}

TEST_F(FolderFingerprint, AnEditedLabelIsNamedByItsImage) {
  const auto then = take_labelled(csv("dog"));
  EXPECT_THAT(differences(then, take_labelled(csv("dog"))), IsEmpty());
  EXPECT_THAT(differences(then, take_labelled(csv("cat"))), ElementsAre("dog/21.png has label 'dog' then, 'cat' now"));
  EXPECT_THAT(differences(then, take_labelled(csv("dog") + "\n\n")), ElementsAre(HasSubstr("the CSV of labels has other bytes")));
  std::string bias = csv("dog");
  bias.replace(bias.find("red"), 3, "tan");
  EXPECT_THAT(differences(then, take_labelled(bias)),
              ElementsAre("bias labels: 1 then, 2 now; 'tan' is new", "cat/10.png has bias 'red' then, 'tan' now"));
  const std::string folders = folder_ / "l.csv";
  EXPECT_THAT(differences(then, take()), testing::Contains(HasSubstr("bias labels: 1 then, 0 now")));
}

TEST_F(FolderFingerprint, SwappedFilesAreNoticed) {
  const auto then = take();
  fs::rename(path(2), folder_ / "aside");
  fs::rename(path(3), path(2));
  fs::rename(folder_ / "aside", path(3));
  EXPECT_THAT(differences(then, take()), ElementsAre("cat/12.png has 22 bytes then, 23 now", "cat/13.png has 23 bytes then, 22 now"));
}

TEST_F(FolderFingerprint, AFileRewrittenInPlaceIsNoticedThoughItIsAsLong) {
  const auto then = take(), contents_then = take(Verify::kContents);
  const auto time = fs::last_write_time(path(4));
  write(path(4), std::string(24, 'z'));
  fs::last_write_time(path(4), time + std::chrono::seconds(5));
  EXPECT_THAT(differences(then, take()), ElementsAre("cat/14.png was written since"));
  fs::last_write_time(path(4), time);
  EXPECT_THAT(differences(contents_then, take(Verify::kContents)), ElementsAre("cat/14.png has other bytes"));
  EXPECT_THAT(differences(then, take()), IsEmpty()) << "a time that was set back is beyond a listing";
}

TEST_F(FolderFingerprint, ACopiedFolderIsTheSame) {
  const auto then = take(), contents_then = take(Verify::kContents);
  fs::rename(folder_ / "photos", folder_ / "old");
  fs::copy(folder_ / "old", folder_ / "photos", fs::copy_options::recursive);
  for (int i = 0; i < 12; ++i) fs::last_write_time(path(i), fs::last_write_time(path(i)) + std::chrono::seconds(60 + i));
  EXPECT_THAT(differences(then, take()), IsEmpty());
  EXPECT_THAT(differences(contents_then, take(Verify::kContents)), IsEmpty());
  write(path(4), std::string(24, 'z'));
  EXPECT_THAT(differences(contents_then, take(Verify::kContents)), ElementsAre("cat/14.png has other bytes"));
}

TEST_F(FolderFingerprint, AnUnreadableFileIsRecorded) {
  fs::create_symlink("nowhere", folder_ / "photos/cat/lost.png");
  const auto then = take();
  EXPECT_THAT(differences(then, take()), IsEmpty());
  fs::remove(folder_ / "photos/cat/lost.png");
  write(folder_ / "photos/cat/lost.png", "found");
  EXPECT_THAT(differences(then, take()), ElementsAre(HasSubstr("cat/lost.png is a file of its own in one of the two only")));
}

TEST_F(FolderFingerprint, IsKeptInJsonAndAListingBesideIt) {
  const auto then = take();
  auto again = fingerprint_from_json(nlohmann::ordered_json::parse(to_json(then).dump()));
  EXPECT_EQ(to_json(again).dump(), to_json(then).dump());
  EXPECT_THAT(differences(again, take()), IsEmpty());
  write(path(8), "four");
  EXPECT_THAT(differences(again, take()), ElementsAre(HasSubstr("other images, labels or sizes among the 12")));
  fs::remove(path(8));
  EXPECT_THAT(differences(again, take()), ElementsAre("12 images then, 11 now"));
  write(path(8), "four");

  write_listing(then, folder_ / "train.gz");
  EXPECT_TRUE(read_listing(again, folder_ / "train.gz"));
  EXPECT_THAT(differences(again, take()), ElementsAre("dog/18.png has 28 bytes then, 4 now"));

  auto other = fingerprint_from_json(to_json(take()));
  EXPECT_FALSE(read_listing(other, folder_ / "train.gz")) << "it is that of another state";
  EXPECT_FALSE(read_listing(other, folder_ / "nowhere.gz"));
  fs::resize_file(folder_ / "train.gz", 30);
  EXPECT_FALSE(read_listing(again, folder_ / "train.gz"));
}

TEST_F(FolderFingerprint, WithoutTheListingACopyIsStillTheSame) {
  const auto then = fingerprint_from_json(to_json(take()));
  for (int i = 0; i < 12; ++i) fs::last_write_time(path(i), fs::last_write_time(path(i)) + std::chrono::seconds(60));
  EXPECT_THAT(differences(then, take()), IsEmpty());
}

TEST_F(FolderFingerprint, NamesThatAreNoTextAreKept) {
  fs::rename(folder_ / "photos/dog", folder_ / "photos/d\xff\ng");
  const auto then = take();
  EXPECT_NO_THROW(to_json(then).dump());
  fs::remove_all(folder_ / "photos/d\xff\ng");
  const auto lines = differences(then, take());
  ASSERT_EQ(lines.size(), 4u);
  for (const auto& line : lines) EXPECT_EQ(line.find('\n'), std::string::npos) << line;
}

TEST(Fingerprint, DamagedJsonIsRefused) {
  const auto json = to_json(taken("{name: glyphs, train_count: 20, size: 16}"));
  for (const char* key : {"name", "count", "verify", "options", "listing"}) {
    auto damaged = json;
    damaged.erase(key);
    EXPECT_THAT(data_error_of([&] { fingerprint_from_json(damaged); }), HasSubstr("fingerprint of a data set")) << key;
  }
  auto damaged = json;
  damaged["count"] = -1;
  EXPECT_THAT(data_error_of([&] { fingerprint_from_json(damaged); }), HasSubstr("count"));
  damaged = json;
  damaged["verify"] = "no";
  EXPECT_THAT(data_error_of([&] { fingerprint_from_json(damaged); }), HasSubstr("verify"));
}

TEST(Fingerprint, OfPackedSetsIsOfTheirPixels) {
  const TemporaryFolder folder;
  write_mnist(folder.path(), 30, 10);
  const std::string yaml = "{name: mnist, root: " + folder.path() + "}";
  const auto then = taken(yaml);
  EXPECT_THAT(differences(then, taken(yaml)), IsEmpty());
  Bytes pixels = ramp(size_t{30} * 784);
  pixels[7 * 784 + 5] ^= 1;
  write(folder / "train-images-idx3-ubyte", idx({30, 28, 28}, pixels));
  EXPECT_THAT(differences(then, taken(yaml)), ElementsAre(HasSubstr("train-images-idx3-ubyte record 7 has other pixels")));
  write_mnist(folder.path(), 30, 10);
  Bytes labels = cyclic_labels(30);
  labels[3] = 9;
  write(folder / "train-labels-idx1-ubyte", idx({30}, labels));
  EXPECT_THAT(differences(then, taken(yaml)), ElementsAre("train-images-idx3-ubyte record 3 has label '3' then, '9' now"));
}

TEST(Fingerprint, OfDrawnSetsIsOfTheirOptions) {
  const auto then = taken("{name: glyphs, train_count: 40, size: 16}");
  EXPECT_THAT(differences(then, taken("{name: glyphs, seed: 0, train_count: 40, size: 16}")), IsEmpty());
  EXPECT_THAT(differences(then, taken("{name: glyphs, train_count: 40, size: 20}")), ElementsAre("option size: 16 then, 20 now"));
  EXPECT_THAT(differences(then, taken("{name: glyphs, train_count: 40, size: 16, correlation: 0.95}")),
              testing::Contains(HasSubstr("train/10 has bias")));
  EXPECT_THAT(differences(then, taken("{name: glyphs, train_count: 40, size: 16, split: test, test_count: 40}")),
              testing::Contains("option split: \"train\" then, \"test\" now"));
}

TEST(Fingerprint, OfAnotherDataSetSaysOnlyThat) {
  const TemporaryFolder folder;
  write_mnist(folder.path(), 30, 10);
  EXPECT_THAT(differences(taken("{name: glyphs, train_count: 40, size: 16}"), taken("{name: mnist, root: " + folder.path() + "}")),
              ElementsAre("data set 'glyphs' then, 'mnist' now"));
}

}  // namespace fingerprint_test
}  // namespace debias
