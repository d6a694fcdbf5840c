// The readers of MNIST, CIFAR and STL-10: what their files say, damage, and where they are looked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "debias/data/readers/cifar.h"
#include "debias/data/readers/mnist.h"
#include "debias/data/readers/stl10.h"
#include "tests/data/fixture_files.h"
#include "tests/support/refusals.h"

namespace debias {
namespace binary_sets_test {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

using namespace fixture;

const std::string kImages = "train-images-idx3-ubyte";
const std::string kLabels = "train-labels-idx1-ubyte";

class Mnist : public testing::Test {
 protected:
  Mnist() { write_mnist(folder_.path(), 12, 10); }
  std::unique_ptr<Dataset> open() { return make_mnist(MnistOptions{.root = folder_.path()}); }
  void replace(const std::string& name, const Bytes& bytes) { write(folder_ / name, bytes); }
  std::string message() {
    return data_error_of([&] { open(); });
  }

  TemporaryFolder folder_;
};

TEST_F(Mnist, ReadsPixelsRowByRow) {
  const auto data = open();
  const Bytes pixels = ramp(12 * 784);
  for (int64_t i : {0, 1, 11}) {
    const Sample sample = data->get(i);
    EXPECT_EQ(sample.image.pixels, Bytes(pixels.begin() + i * 784, pixels.begin() + (i + 1) * 784));
    EXPECT_EQ(sample.label, i % 10);
  }
  EXPECT_EQ(data->source(11), kImages + " record 11");
  EXPECT_THAT(data->info().class_names, testing::ElementsAre("0", "1", "2", "3", "4", "5", "6", "7", "8", "9"));
  EXPECT_THAT(data->info().mean, testing::ElementsAre(0.1307));
  EXPECT_THAT(data->info().std, testing::ElementsAre(0.3081));
}

TEST_F(Mnist, ReadsGzipAlike) {
  const Bytes plain = open()->get(5).image.pixels;
  for (const std::string& name : {kImages, kLabels}) std::filesystem::remove(folder_ / name);
  replace(kImages + ".gz", gzip(idx({12, 28, 28}, ramp(12 * 784))));
  replace(kLabels + ".gz", gzip(idx({12}, cyclic_labels(12))));
  EXPECT_EQ(open()->size(), 12);
  EXPECT_EQ(open()->get(5).image.pixels, plain);
}

TEST_F(Mnist, TruncationAnywhereNamesTheFile) {
  const Bytes whole = idx({12, 28, 28}, ramp(12 * 784));
  for (size_t length : {size_t{1}, size_t{3}, size_t{4}, size_t{15}, size_t{16}, size_t{17}, whole.size() / 2, whole.size() - 1}) {
    replace(kImages, Bytes(whole.begin(), whole.begin() + static_cast<int64_t>(length)));
    EXPECT_THAT(message(), AllOf(HasSubstr(folder_ / kImages), HasSubstr("truncated"))) << length;
  }
  replace(kImages, {});
  EXPECT_THAT(message(), AllOf(HasSubstr(folder_ / kImages), HasSubstr("is empty")));
}

TEST_F(Mnist, TruncatedGzipNamesTheFile) {
  std::filesystem::remove(folder_ / kImages);
  const Bytes packed = gzip(idx({12, 28, 28}, ramp(12 * 784, 31)));
  for (size_t length : {size_t{2}, size_t{12}, packed.size() / 2, packed.size() - 9, packed.size() - 1}) {
    replace(kImages + ".gz", Bytes(packed.begin(), packed.begin() + static_cast<int64_t>(length)));
    EXPECT_THAT(message(), AllOf(HasSubstr(kImages + ".gz"), HasSubstr("truncated"))) << length << " of " << packed.size();
  }
  Bytes flipped = packed;
  flipped[flipped.size() - 6] ^= 1;  // in the checksum
  replace(kImages + ".gz", flipped);
  EXPECT_THAT(message(), HasSubstr("damaged compression"));
}

TEST_F(Mnist, RefusesTrailingBytes) {
  Bytes longer = idx({12}, cyclic_labels(12));
  longer.push_back(0);
  replace(kLabels, longer);
  EXPECT_THAT(message(), AllOf(HasSubstr(folder_ / kLabels), HasSubstr("continues after the 12 bytes")));
  std::filesystem::remove(folder_ / kLabels);
  replace(kLabels + ".gz", gzip(longer));
  EXPECT_THAT(message(), HasSubstr("continues after the 12 bytes"));
}

TEST_F(Mnist, RefusesAnotherMagic) {
  replace(kImages, idx({12, 28, 28}, ramp(12 * 784), 0x803 + 0x500));
  EXPECT_THAT(message(), HasSubstr("expected magic 0x00000803, found 0x00000d03"));
  replace(kImages, idx({12}, cyclic_labels(12)));
  EXPECT_THAT(message(), HasSubstr("found 0x00000801"));
}

TEST_F(Mnist, RefusesOtherExtents) {
  replace(kImages, idx({12, 14, 56}, ramp(12 * 784)));
  EXPECT_THAT(message(), HasSubstr("expected images of 28x28, found 14x56"));
  replace(kImages, idx({0, 28, 28}, {}));
  EXPECT_THAT(message(), HasSubstr("promises 0 bytes"));
  replace(kImages, idx({0xffffffff, 0xffffffff, 0xffffffff}, {}));
  EXPECT_THAT(message(), HasSubstr("too many"));
  replace(kImages, idx({5'000'000, 28, 28}, ramp(100)));
  EXPECT_THAT(message(), HasSubstr("too many"));
  replace(kImages, idx({1'000'000, 28, 28}, ramp(100)));  // must not set aside 784 MB
  EXPECT_THAT(message(), HasSubstr("promises 784000000 bytes, found 100"));
  replace(kImages, idx({11, 28, 28}, ramp(11 * 784)));
  EXPECT_THAT(message(), HasSubstr("12 labels for the 11 images"));
}

TEST_F(Mnist, RefusesALabelAboveNine) {
  Bytes labels = cyclic_labels(12);
  labels[7] = 10;
  replace(kLabels, idx({12}, labels));
  EXPECT_THAT(message(), AllOf(HasSubstr(folder_ / kLabels), HasSubstr("record 7: label 10")));
}

TEST_F(Mnist, SaysWhichFilesItLookedFor) {
  std::filesystem::remove(folder_ / kLabels);
  EXPECT_THAT(message(), AllOf(HasSubstr(kLabels + " nor " + kLabels + ".gz"), HasSubstr(folder_.path())));
  std::filesystem::create_directory(folder_ / kLabels);
  EXPECT_THAT(message(), HasSubstr("not a regular file"));
}

TEST(MnistRealData, HasTheKnownCounts) {
  const char* base = std::getenv("DEBIAS_TEST_DATA");
  const std::string root = std::string(base != nullptr ? base : "../shared/data") + "/mnist";
  if (!std::filesystem::exists(root)) GTEST_SKIP() << "no " << root << "; set DEBIAS_TEST_DATA";
  const auto counts = [](const Dataset& data) {
    std::vector<int> per_class(10, 0);
    for (int64_t i = 0; i < data.size(); ++i) ++per_class[static_cast<size_t>(data.label(i))];
    return per_class;
  };
  const auto train = make_mnist(MnistOptions{.root = root});
  const auto test = make_mnist(MnistOptions{.root = root, .split = Split::kTest});
  EXPECT_THAT(counts(*train), testing::ElementsAre(5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949));
  EXPECT_THAT(counts(*test), testing::ElementsAre(980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009));
  MnistOptions held_out;
  held_out.root = root;
  held_out.split = Split::kHeldOut;
  held_out.hold_out.count = 5000;
  // 5000 n_c / 60000, the largest fractions rounded up.
  EXPECT_THAT(counts(*make_mnist(held_out)), testing::ElementsAre(494, 562, 496, 511, 487, 452, 493, 522, 487, 496));
}

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

constexpr size_t kRecord = 3 * 96 * 96;

class Stl10Test : public testing::Test {
 protected:
  Stl10Test() {
    put("train", 20);
    put("test", 10);
    write(folder_ / "unlabeled_X.bin", images(6, 100));
  }
  // Image i has i as its first red byte.
  static Bytes images(size_t count, uint8_t first = 0) {
    Bytes bytes = ramp(count * kRecord, 11);
    for (size_t i = 0; i < count; ++i) bytes[i * kRecord] = static_cast<uint8_t>(first + i);
    return bytes;
  }
  void put(const std::string& part, size_t count) {
    write(folder_ / (part + "_X.bin"), images(count));
    Bytes labels = cyclic_labels(count);
    for (uint8_t& label : labels) ++label;
    write(folder_ / (part + "_y.bin"), labels);
  }
  std::unique_ptr<Dataset> open(StlSplit split = StlSplit::kTrain, int64_t hold_out = 0) {
    Stl10Options options;
    options.root = folder_.path();
    options.split = split;
    options.hold_out.count = hold_out;
    return make_stl10(options);
  }
  std::string message() {
    return data_error_of([&] { open(); });
  }
  TemporaryFolder folder_;
};

TEST_F(Stl10Test, PlanesAreStoredColumnByColumn) {
  const Bytes file = images(20);
  const Sample sample = open()->get(3);
  EXPECT_EQ(sample.label, 3);
  for (const auto& [y, x, c] : {std::tuple{0, 0, 0}, {0, 1, 0}, {1, 0, 0}, {95, 95, 2}, {17, 60, 1}, {60, 17, 1}}) {
    const size_t stored = 3 * kRecord + static_cast<size_t>(c * 9216 + x * 96 + y);
    EXPECT_EQ(sample.image.pixels[static_cast<size_t>((y * 96 + x) * 3 + c)], file[stored]) << y << " " << x << " " << c;
  }
}

TEST_F(Stl10Test, UnlabelledImagesFollowTrain) {
  const auto both = open(StlSplit::kTrainAndUnlabeled);
  ASSERT_EQ(both->size(), 26);
  EXPECT_EQ(both->info().split, "train+unlabeled");
  EXPECT_EQ(both->label(19), 9);
  EXPECT_EQ(both->label(20), kUnknown);
  EXPECT_EQ(both->get(21).image.pixels[0], 101);
  EXPECT_EQ(both->get(21).id, 21);
  EXPECT_EQ(both->source(21), "unlabeled_X.bin record 1");
  const auto unlabelled = open(StlSplit::kUnlabeled);
  EXPECT_EQ(unlabelled->size(), 6);
  EXPECT_EQ(unlabelled->label(0), kUnknown);
  EXPECT_TRUE(unlabelled->info().class_names.empty());
  EXPECT_EQ(make("{name: stl10, split: train+unlabeled, root: " + folder_.path() + "}")->size(), 26);
}

TEST_F(Stl10Test, HeldOutImagesAreNotAmongTrainAndUnlabelled) {
  const auto both = open(StlSplit::kTrainAndUnlabeled, 10);
  const auto held = open(StlSplit::kHeldOut, 10);
  EXPECT_EQ(both->size(), 16);
  std::set<int64_t> ids;
  for (int64_t i = 0; i < both->size(); ++i) ids.insert(both->id(i));
  for (int64_t i = 0; i < held->size(); ++i) ids.insert(held->id(i));
  EXPECT_EQ(ids.size(), 26u);
}

TEST_F(Stl10Test, FindsTheArchivesFolder) {
  const TemporaryFolder above;
  std::filesystem::rename(folder_.path(), above / "stl10_binary");
  EXPECT_EQ(make("{name: stl10, root: " + above.path() + "}")->size(), 20);
  std::filesystem::create_directory(folder_.path());
}

TEST_F(Stl10Test, SaysWhatIsWrongWithWhichFile) {
  const Bytes whole = images(20);
  write(folder_ / "train_X.bin", Bytes(whole.begin(), whole.end() - 1));
  EXPECT_THAT(message(), AllOf(HasSubstr(folder_ / "train_X.bin"), HasSubstr("not a whole number of images of 27648 bytes")));
  write(folder_ / "train_X.bin", Bytes{});
  EXPECT_THAT(message(), HasSubstr("is empty"));
  write(folder_ / "train_X.bin", images(19));
  EXPECT_THAT(message(), AllOf(HasSubstr("train_y.bin"), HasSubstr("20 labels for 19 images")));
  put("train", 20);
  for (const uint8_t label : {0, 11}) {
    Bytes labels(20, 1);
    labels[7] = label;
    write(folder_ / "train_y.bin", labels);
    EXPECT_THAT(message(), HasSubstr("record 7: label " + std::to_string(label) + ", expected 1 to 10"));
  }
  std::filesystem::remove(folder_ / "train_y.bin");
  EXPECT_THAT(message(), HasSubstr(folder_ / "train_y.bin"));
  std::filesystem::remove(folder_ / "train_X.bin");
  EXPECT_THAT(message(), AllOf(HasSubstr("train_X.bin, train_y.bin"), HasSubstr("stl10_binary")));
}

TEST_F(Stl10Test, AFileThatShrinksIsADataError) {
  const auto data = open();
  std::filesystem::resize_file(folder_ / "train_X.bin", kRecord * 2 + 5);
  EXPECT_NO_THROW(data->get(1));
  EXPECT_THAT(data_error_of([&] { data->get(2); }), HasSubstr("ends within record 2"));
}

}  // namespace binary_sets_test
}  // namespace debias
