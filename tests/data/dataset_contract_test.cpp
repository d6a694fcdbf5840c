// What every registered data set promises. A new entry needs a fixture here and gets these tests by being registered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "debias/data/dataset_registry.h"
#include "tests/data/fixture_files.h"
#include "tests/support/refusals.h"

namespace debias {
namespace dataset_contract_test {

using namespace fixture;

constexpr int kTrainImages = 40;

// Files of 40 train images, four of each of ten classes, and ten test images. Returns the section without braces and split.
std::string prepare(const std::string& name, const TemporaryFolder& folder) {
  const std::string section = "name: " + name + ", root: " + folder.path();
  if (name == "glyphs") return "name: glyphs, train_count: 40, test_count: 10, size: 16";
  if (name == "mnist") {
    write_mnist(folder.path(), kTrainImages, 10);
    return section;
  }
  if (name == "biased_mnist") {
    write_mnist(folder.path(), kTrainImages, 10);
    return section + ", correlation: 1";  // held out before colouring: only then is a held-out image that of the whole
  }
  if (name == "cifar10") {
    constexpr int kBatch = kTrainImages / 5;
    for (int batch = 0; batch < 5; ++batch) {
      write(folder / ("data_batch_" + std::to_string(batch + 1) + ".bin"), cifar10_file(kBatch, batch * kBatch));
    }
    write(folder / "test_batch.bin", cifar10_file(10));
    return section;
  }
  if (name == "cifar100") {
    Bytes train;
    for (uint8_t i = 0; i < kTrainImages; ++i) {
      const Bytes record = cifar_record({19, static_cast<uint8_t>(90 + i % 10)}, i, 1, 2);
      train.insert(train.end(), record.begin(), record.end());
    }
    write(folder / "train.bin", train);
    write(folder / "test.bin", Bytes(train.begin(), train.begin() + 3074 * 10));
    return section;
  }
  if (name == "corrupted_cifar10") {
    for (const auto& [part, count] : {std::pair{std::string("align"), 30}, {"conflict", 10}, {"test", 10}}) {
      for (int i = 0; i < count; ++i) {
        const int id = i + (part == "conflict" ? 30 : 0), label = i % 10, bias = part == "align" ? label : (label + 1) % 10;
        write(folder / fmt::format("{}/{}/{}_{}_{}.png", part, label, id, label, bias),
              encode_png(solid(32, 32, static_cast<uint8_t>(id), 2, 3)));
      }
    }
    return section;
  }
  if (name == "stl10") {
    for (const auto& [part, count] : {std::pair{std::string("train"), kTrainImages}, std::pair{std::string("test"), 10}}) {
      Bytes labels = cyclic_labels(static_cast<size_t>(count));
      for (uint8_t& label : labels) ++label;
      write(folder / (part + "_X.bin"), ramp(static_cast<size_t>(count) * 27648));
      write(folder / (part + "_y.bin"), labels);
    }
    return section;
  }
  if (name == "bffhq") {  // of its test images, half are kept
    for (const auto& [split, count] : {std::pair{std::string("0.5pct/"), kTrainImages}, std::pair{std::string("test/"), 20}}) {
      for (int i = 0; i < count; ++i) {
        const bool aligned = i % 4 < 2;
        const std::string part = count == 20 ? "" : aligned ? "align/" : "conflict/";
        const std::string fields = std::to_string(i % 2) + "_" + std::to_string(aligned ? i % 2 : 1 - i % 2);
        write(folder / (split + part + std::to_string(i) + "_" + fields + ".png"), encode_png(solid(5, 6, static_cast<uint8_t>(i), 2, 3)));
      }
    }
    return section;
  }
  if (name == "image_folder") {
    for (const auto& [split, count] : {std::pair{"train", 4}, std::pair{"test", 1}}) {
      for (int label = 0; label < 10; ++label) {
        for (int i = 0; i < count; ++i) {
          const Image image = solid(5 + i, 6, static_cast<uint8_t>(20 * label), static_cast<uint8_t>(60 * i), 9);
          write(folder / (std::string(split) + "/class" + std::to_string(label) + "/" + std::to_string(i) + ".png"), encode_png(image));
        }
      }
    }
    return section;
  }
  ADD_FAILURE() << "write a fixture for data set " << name;
  return section;
}

bool equal(const Sample& a, const Sample& b) {
  return a.id == b.id && a.label == b.label && a.bias == b.bias && a.image.height == b.image.height && a.image.width == b.image.width &&
         a.image.pixels == b.image.pixels;
}

class DatasetContract : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<const Dataset> open(const std::string& more) const { return make("{" + section_ + ", " + more + "}"); }

  TemporaryFolder folder_;
  std::string section_ = prepare(GetParam(), folder_);
};

TEST_P(DatasetContract, SaysWhatItIs) {
  for (const std::string split : {"train", "test"}) {
    const auto data = open("split: " + split);
    EXPECT_EQ(data->info().name, GetParam());
    EXPECT_EQ(data->info().split, split);
    EXPECT_EQ(data->size(), split == "train" ? kTrainImages : 10);
    const auto channels = static_cast<size_t>(data->info().channels);
    EXPECT_EQ(data->info().mean.size(), channels);
    EXPECT_EQ(data->info().std.size(), channels);
    EXPECT_FALSE(data->info().class_names.empty());
  }
}

TEST_P(DatasetContract, TrainIsTheDefaultSplit) { EXPECT_EQ(open("seed: 0")->info().split, "train"); }

TEST_P(DatasetContract, ImagesAreWellFormedAndNeverChange) {
  const auto data = open("split: train");
  const DatasetInfo& info = data->info();
  std::set<int64_t> ids;
  std::set<std::string> sources;
  for (int64_t i = 0; i < data->size(); ++i) {
    const Sample sample = data->get(i);
    EXPECT_EQ(sample.image.channels, info.channels);
    EXPECT_TRUE(info.height == 0 || sample.image.height == info.height);
    EXPECT_TRUE(info.width == 0 || sample.image.width == info.width);
    EXPECT_EQ(sample.image.pixels.size(), static_cast<size_t>(sample.image.height) * sample.image.width * sample.image.channels);
    EXPECT_EQ(sample.id, data->id(i));
    EXPECT_EQ(sample.label, data->label(i));
    EXPECT_EQ(sample.bias, data->bias(i));
    EXPECT_GE(sample.label, 0);
    EXPECT_LT(sample.label, static_cast<int64_t>(info.class_names.size()));
    if (info.bias_names.empty()) {
      EXPECT_EQ(sample.bias, kUnknown);
    } else {
      EXPECT_GE(sample.bias, 0);
      EXPECT_LT(sample.bias, static_cast<int64_t>(info.bias_names.size()));
    }
    EXPECT_TRUE(equal(sample, data->get(i))) << i;
    ids.insert(sample.id);
    sources.insert(data->source(i));
  }
  EXPECT_EQ(ids.size(), static_cast<size_t>(data->size()));
  EXPECT_EQ(sources.size(), static_cast<size_t>(data->size()));
}

TEST_P(DatasetContract, RefusesAnIndexOutOfRange) {
  for (const std::string options : {"split: train", "split: train, hold_out: 10"}) {
    const auto data = open(options);
    for (int64_t index : {int64_t{-1}, data->size(), int64_t{1} << 40}) {
      EXPECT_THROW(data->get(index), std::out_of_range);
      EXPECT_THROW(data->label(index), std::out_of_range);
      EXPECT_THROW(data->source(index), std::out_of_range);
    }
  }
}

TEST_P(DatasetContract, ConcurrentReadersSeeTheSameImages) {
  const auto data = open("split: train");
  std::vector<Sample> serial;
  for (int64_t i = 0; i < data->size(); ++i) serial.push_back(data->get(i));
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> readers;
  for (size_t t = 0; t < wrong.size(); ++t) {
    readers.emplace_back([&, t] {
      for (int64_t i = data->size() - 1; i >= 0; --i) wrong[t] += equal(data->get(i), serial[static_cast<size_t>(i)]) ? 0 : 1;
    });
  }
  for (auto& reader : readers) reader.join();
  EXPECT_THAT(wrong, testing::Each(0));
}

TEST_P(DatasetContract, HoldOutSplitsTrainByClass) {
  const auto whole = open("split: train");
  const auto kept = open("split: train, hold_out: 10, seed: 0");
  const auto held = open("split: held_out, hold_out: 10, seed: 0");
  EXPECT_EQ(kept->info().split, "train");
  EXPECT_EQ(held->info().split, "held_out");
  ASSERT_EQ(held->size(), 10);
  ASSERT_EQ(kept->size(), kTrainImages - 10);
  std::set<int64_t> ids;
  std::map<int64_t, int> per_class;
  for (int64_t i = 0; i < kept->size(); ++i) ids.insert(kept->id(i));
  for (int64_t i = 0; i < held->size(); ++i) {
    ids.insert(held->id(i));
    ++per_class[held->label(i)];
    EXPECT_TRUE(equal(held->get(i), whole->get(held->id(i))));
  }
  EXPECT_EQ(ids.size(), static_cast<size_t>(kTrainImages));
  const size_t classes = whole->info().class_names.size() == 2 ? 2 : 10;  // bffhq has two; of the others' classes the fixture has ten
  EXPECT_EQ(per_class.size(), classes);
  for (const auto& [label, images] : per_class) EXPECT_EQ(images, 10 / static_cast<int>(classes)) << label;
}

TEST_P(DatasetContract, RefusesUnknownOptionsAndSplits) {
  const std::string option = usage_error_of([&] { open("hold_uot: 3"); });
  EXPECT_THAT(option, testing::HasSubstr("did you mean 'hold_out'"));
  EXPECT_THAT(option, testing::HasSubstr("r.yaml:1"));
  EXPECT_THAT(usage_error_of([&] { open("hold_out: -1"); }), testing::HasSubstr("out of range"));
  EXPECT_THAT(usage_error_of([&] { open("hold_out: 40"); }), testing::HasSubstr("40 of 40 images"));
  EXPECT_THAT(usage_error_of([&] { open("split: held_out"); }), testing::HasSubstr("give hold_out"));
}

TEST_P(DatasetContract, MissingRootIsADataErrorNamingIt) {
  if (GetParam() == "glyphs") {
    EXPECT_THROW(open("root: x"), Error);
    return;
  }
  EXPECT_THAT(data_error_of([&] { make("{name: " + GetParam() + ", root: /nowhere/at/all}"); }), testing::HasSubstr("/nowhere/at/all: "));
  EXPECT_THAT(usage_error_of([&] { make("{name: " + GetParam() + "}"); }), testing::HasSubstr("no root is given"));
  const TemporaryFolder empty;
  EXPECT_THAT(data_error_of([&] { make("{name: " + GetParam() + ", root: " + empty.path() + "}"); }), testing::HasSubstr(empty.path()));
}

std::vector<std::string> registered_names() {
  std::vector<std::string> names;
  for (const auto& entry : dataset_registry()) {
    if (entry.samples == SampleKind::kImages) names.push_back(entry.name);
  }
  return names;
}
INSTANTIATE_TEST_SUITE_P(Registry, DatasetContract, testing::ValuesIn(registered_names()), [](const auto& param) { return param.param; });

TEST(DatasetRegistry, SuggestsTheNearestName) {
  EXPECT_THAT(usage_error_of([] { make("{name: cifar01}"); }), testing::HasSubstr("did you mean 'cifar10'"));
  EXPECT_THAT(usage_error_of([] { make("{root: x}"); }), testing::HasSubstr("name: ..."));
}

TEST(DatasetRegistry, TakesABareWord) { EXPECT_EQ(make("glyphs")->size(), 10000); }

}  // namespace dataset_contract_test
}  // namespace debias
