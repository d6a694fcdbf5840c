#include "debias/data/readers/mnist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "debias/data/readers/idx_file.h"
#include "tests/data/fixture_files.h"
#include "tests/support/refusals.h"

namespace debias {
namespace mnist_test {

using namespace fixture;
using testing::AllOf;
using testing::HasSubstr;

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

}  // namespace mnist_test
}  // namespace debias
