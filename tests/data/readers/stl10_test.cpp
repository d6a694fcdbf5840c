#include "debias/data/readers/stl10.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/data/fixture_files.h"
#include "tests/support/refusals.h"

namespace debias {
namespace stl10_test {

using namespace fixture;
using testing::AllOf;
using testing::HasSubstr;

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

}  // namespace stl10_test
}  // namespace debias
