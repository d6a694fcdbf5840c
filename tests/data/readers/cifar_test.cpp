#include "debias/data/readers/cifar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/fixture_files.h"
#include "tests/support/refusals.h"

namespace debias {
namespace cifar_test {

using namespace fixture;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class Cifar10 : public testing::Test {
 protected:
  void write_batches(const std::string& under = "") {
    for (int batch = 1; batch <= 5; ++batch) write(folder_ / (under + "data_batch_" + std::to_string(batch) + ".bin"), cifar10_file(batch));
    write(folder_ / (under + "test_batch.bin"), cifar10_file(3));
  }
  std::unique_ptr<Dataset> open(Split split = Split::kTrain) { return make_cifar10(CifarOptions{.root = folder_.path(), .split = split}); }
  std::string message() {
    return data_error_of([&] { open(); });
  }

  TemporaryFolder folder_;
};

TEST_F(Cifar10, InterleavesThePlanes) {
  write_batches();
  Bytes record = {3};
  for (int i = 0; i < 3072; ++i) record.push_back(static_cast<uint8_t>(i / 12));
  write(folder_ / "test_batch.bin", record);
  const Sample sample = open(Split::kTest)->get(0);
  EXPECT_EQ(sample.label, 3);
  for (int p : {0, 1, 31, 32, 1023}) {
    for (int c = 0; c < 3; ++c) EXPECT_EQ(sample.image.pixels[static_cast<size_t>(p * 3 + c)], (c * 1024 + p) / 12) << p << " " << c;
  }
}

TEST_F(Cifar10, CountsComeFromTheFiles) {
  write_batches();
  const auto train = open();
  EXPECT_EQ(train->size(), 1 + 2 + 3 + 4 + 5);
  EXPECT_EQ(train->source(0), "data_batch_1.bin record 0");
  EXPECT_EQ(train->source(1), "data_batch_2.bin record 0");
  EXPECT_EQ(train->source(14), "data_batch_5.bin record 4");
  EXPECT_EQ(train->label(14), 4);
  EXPECT_EQ(open(Split::kTest)->size(), 3);
  EXPECT_EQ(train->info().class_names[9], "truck");
  EXPECT_THAT(train->info().mean, ElementsAre(0.4914, 0.4822, 0.4465));
  EXPECT_THAT(train->info().std, ElementsAre(0.2023, 0.1994, 0.2010));
}

TEST_F(Cifar10, FindsTheArchivesFolder) {
  write_batches("cifar-10-batches-bin/");
  EXPECT_EQ(open()->size(), 15);
}

TEST_F(Cifar10, RefusesPartialRecordsAndEmptyFiles) {
  write_batches();
  const Bytes whole = cifar10_file(2);
  for (size_t length : {size_t{1}, size_t{3072}, size_t{3074}, whole.size() - 1}) {
    write(folder_ / "data_batch_3.bin", Bytes(whole.begin(), whole.begin() + static_cast<int64_t>(length)));
    EXPECT_THAT(message(), AllOf(HasSubstr(folder_ / "data_batch_3.bin"), HasSubstr("records of 3073 bytes"))) << length;
  }
  write(folder_ / "data_batch_3.bin", Bytes());
  EXPECT_THAT(message(), AllOf(HasSubstr(folder_ / "data_batch_3.bin"), HasSubstr("is empty")));
}

TEST_F(Cifar10, RefusesALabelThatIsNoClass) {
  write_batches();
  Bytes bytes = cifar10_file(4);
  bytes[2 * 3073] = 10;
  write(folder_ / "data_batch_2.bin", bytes);
  EXPECT_THAT(message(), AllOf(HasSubstr(folder_ / "data_batch_2.bin"), HasSubstr("record 2: label 10, expected 0 to 9")));
}

TEST_F(Cifar10, SaysWhichFilesItLookedFor) {
  EXPECT_THAT(message(),
              AllOf(HasSubstr(folder_.path()), HasSubstr("data_batch_1.bin, data_batch_2.bin"), HasSubstr("cifar-10-batches-bin")));
  write_batches();
  std::filesystem::remove(folder_ / "data_batch_4.bin");
  EXPECT_THAT(message(), HasSubstr(folder_ / "data_batch_4.bin"));
}

TEST_F(Cifar10, ReadsFoldersOfImagesInTheCanonicalOrder) {
  write(folder_ / "train/truck/0.jpg", jpeg(solid(32, 32, 250, 0, 0)));
  write(folder_ / "train/airplane/1.jpg", jpeg(solid(32, 32, 0, 250, 0)));
  write(folder_ / "train/airplane/0.JPG", jpeg(solid(32, 32, 0, 0, 250)));
  write(folder_ / "test/cat/7.png", encode_png(solid(32, 32, 1, 2, 3)));
  const auto train = open();
  ASSERT_EQ(train->size(), 3);
  EXPECT_EQ(train->source(0), "train/airplane/0.JPG");
  EXPECT_EQ(train->label(1), 0);
  EXPECT_EQ(train->label(2), 9);
  EXPECT_NEAR(train->get(2).image.pixels[0], 250, 2);
  EXPECT_EQ(open(Split::kTest)->get(0).label, 3);
  EXPECT_EQ(open(Split::kTest)->get(0).image.pixels[2], 3);
}

TEST_F(Cifar10, RefusesWrongFoldersAndSizes) {
  write(folder_ / "train/cats/0.png", encode_png(solid(32, 32, 1, 2, 3)));
  EXPECT_THAT(message(), AllOf(HasSubstr("train/cats"), HasSubstr("did you mean 'cat'")));
  std::filesystem::remove_all(folder_ / "train/cats");
  EXPECT_THAT(message(), HasSubstr("has no class folder"));
  write(folder_ / "train/cat/0.png", encode_png(solid(31, 32, 1, 2, 3)));
  const auto train = open();
  EXPECT_THAT(data_error_of([&] { train->get(0); }), AllOf(HasSubstr("train/cat/0.png"), HasSubstr("31x32 pixels, expected 32x32")));
}

TEST(Cifar100, TakesTheFineLabel) {
  const TemporaryFolder folder;
  Bytes bytes = cifar_record({19, 99}, 1, 2, 3);
  const Bytes second = cifar_record({0, 11}, 4, 5, 6);
  bytes.insert(bytes.end(), second.begin(), second.end());
  write(folder / "cifar-100-binary/train.bin", bytes);
  const auto train = make_cifar100(CifarOptions{.root = folder.path()});
  ASSERT_EQ(train->size(), 2);
  EXPECT_EQ(train->info().class_names[static_cast<size_t>(train->label(0))], "worm");
  EXPECT_EQ(train->info().class_names[static_cast<size_t>(train->label(1))], "boy");
  EXPECT_EQ(train->info().class_names.size(), 100u);
  EXPECT_TRUE(std::is_sorted(train->info().class_names.begin(), train->info().class_names.end()));
  EXPECT_THAT(train->get(1).image.pixels[1], 5);
  EXPECT_THAT(train->info().mean, ElementsAre(0.5071, 0.4867, 0.4408));

  bytes[3074 + 1] = 100;
  write(folder / "cifar-100-binary/train.bin", bytes);
  EXPECT_THAT(data_error_of([&] { make_cifar100(CifarOptions{.root = folder.path()}); }),
              HasSubstr("record 1: label 100, expected 0 to 99"));
}

}  // namespace cifar_test
}  // namespace debias
