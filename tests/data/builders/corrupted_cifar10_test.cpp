#include "debias/data/builders/corrupted_cifar10.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "debias/data/builders/data_make.h"
#include "tests/data/fixture_files.h"
#include "tests/support/refusals.h"

namespace debias {
namespace corrupted_cifar10_test {

using testing::AllOf;
using testing::HasSubstr;

using namespace fixture;

std::vector<int64_t> labels_of(int64_t per_class) {
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < 10 * per_class; ++i) labels.push_back(i % 10);
  return labels;
}

int64_t conflicts(const std::vector<int64_t>& labels, const std::vector<int64_t>& biases) {
  int64_t count = 0;
  for (size_t i = 0; i < labels.size(); ++i) count += labels[i] != biases[i] ? 1 : 0;
  return count;
}

TEST(OrderedBiases, GiveThePublishedCounts) {
  for (const auto& [correlation, of_50000, of_45000] :
       {std::tuple{0.995, 250, 227}, {0.99, 500, 450}, {0.98, 1000, 900}, {0.95, 2500, 2250}, {1.0, 0, 0}}) {
    EXPECT_EQ(conflicts(labels_of(5000), ordered_biases(labels_of(5000), correlation)), of_50000) << correlation;
    EXPECT_EQ(conflicts(labels_of(4500), ordered_biases(labels_of(4500), correlation)), of_45000) << correlation;
  }
  EXPECT_EQ(conflicts(labels_of(1000), ordered_biases(labels_of(1000), 0.1)), 9000);
}

TEST(OrderedBiases, FollowTheOrderOfTheImages) {
  const auto labels = labels_of(100);
  const auto biases = ordered_biases(labels, 0.91);  // nine other corruptions of one image each
  for (int64_t own = 0; own < 10; ++own) {
    std::vector<int64_t> of_class;
    for (size_t i = static_cast<size_t>(own); i < labels.size(); i += 10) of_class.push_back(biases[i]);
    EXPECT_TRUE(std::is_sorted(of_class.begin(), of_class.end()));
    EXPECT_EQ(std::count(of_class.begin(), of_class.end(), own), 91);
    EXPECT_EQ(std::set<int64_t>(of_class.begin(), of_class.end()).size(), 10u);
  }
}

class CorruptedCifar10 : public testing::Test {
 protected:
  CorruptedCifar10() {
    for (int batch = 0; batch < 5; ++batch)
      write(folder_ / fmt::format("cifar/data_batch_{}.bin", batch + 1), cifar10_file(40, 40 * batch));
    write(folder_ / "cifar/test_batch.bin", cifar10_file(20));
  }
  std::string source(const std::string& more) const { return "{name: corrupted_cifar10, root: " + (folder_ / "cifar") + more + "}"; }
  MadeCounts build(const std::string& more, const std::string& out = "made") const {
    return make_data_folder(parse_yaml(source(more), "r.yaml"), folder_ / out);
  }
  std::unique_ptr<const Dataset> open(const std::string& more, const std::string& root = "made") const {
    return make("{name: corrupted_cifar10, root: " + (folder_ / root) + more + "}");
  }
  TemporaryFolder folder_;
};

TEST_F(CorruptedCifar10, MakesAndReadsAFolder) {
  const MadeCounts counts = build(", correlation: 0.9");
  ASSERT_EQ(counts.parts.size(), 3u);
  EXPECT_EQ(counts.parts[0].aligned + counts.parts[0].conflicting, 180);
  EXPECT_EQ(counts.parts[0].conflicting, 18);  // of 18 a class two, but where both ends of the own block round up: one, in two classes
  EXPECT_EQ(counts.parts[1].aligned + counts.parts[1].conflicting, 20);
  EXPECT_EQ(counts.parts[2].aligned + counts.parts[2].conflicting, 20);
  EXPECT_THAT(counts.remarks, testing::ElementsAre(HasSubstr("frost")));
  const MadeParts parts = corrupted_cifar10_parts(CorruptedCifar10Recipe{.root = folder_ / "cifar", .correlation = 0.9});
  for (const auto& [split, made] : {std::pair{"train", parts.train}, {"valid", parts.valid}, {"test", parts.test}}) {
    const auto read = open(std::string(", split: ") + split);
    ASSERT_EQ(read->size(), made->size());
    for (int64_t i = 0; i < read->size(); ++i) {
      const Sample a = read->get(i), b = made->get(i);
      EXPECT_EQ(a.id, b.id);
      EXPECT_EQ(a.label, b.label);
      EXPECT_EQ(a.bias, b.bias);
      EXPECT_EQ(a.image.pixels, b.image.pixels);
    }
  }
  EXPECT_THAT(open("")->info().bias_names,
              testing::ElementsAre("snow", "frost", "fog", "brightness", "contrast", "spatter", "elastic", "jpeg", "pixelate", "saturate"));
  EXPECT_EQ(open(", correlation: 0.5")->size(), 180);  // a made folder keeps its own
}

TEST_F(CorruptedCifar10, SeveralSharesAreOneFolderWithOneTest) {
  const MadeCounts counts = build(", ratios: [5pct, 1pct], corruptions: type1, valid_fraction: 0.1");
  std::vector<std::string> names;
  for (const auto& part : counts.parts) names.push_back(part.split);
  EXPECT_THAT(names, testing::ElementsAre("5pct/train", "5pct/valid", "1pct/train", "1pct/valid", "test"));
  auto recipe = CorruptedCifar10Recipe{.root = folder_ / "cifar", .valid_fraction = 0.1, .corruptions = "type1"};
  for (const auto& [ratio, correlation] : {std::pair{"5pct", 0.95}, {"1pct", 0.99}}) {
    recipe.correlation = correlation;
    const MadeParts parts = corrupted_cifar10_parts(recipe);
    for (const auto& [split, made] : {std::pair{"train", parts.train}, {"valid", parts.valid}, {"test", parts.test}}) {
      const auto read = open(fmt::format(", ratio: {}, split: {}", ratio, split));
      ASSERT_EQ(read->size(), made->size());
      for (int64_t i = 0; i < read->size(); ++i) {
        EXPECT_EQ(read->bias(i), made->bias(i));
        EXPECT_EQ(read->get(i).image.pixels, made->get(i).image.pixels) << ratio << split << i;
      }
      EXPECT_EQ(read->info().bias_names[9], "original");  // of the corruptions that were asked for
    }
  }
  EXPECT_THAT(usage_error_of([&] { open(""); }), HasSubstr("write ratio: 0.5pct"));
}

TEST_F(CorruptedCifar10, OptionsShapeWhatIsMade) {
  const MadeCounts all = build(", valid_fraction: 0, corruptions: type1, severity: 1", "type1");
  ASSERT_EQ(all.parts.size(), 2u);
  EXPECT_EQ(all.parts[0].aligned + all.parts[0].conflicting, 200);
  EXPECT_TRUE(all.remarks.empty());
  const auto type1 = open("", "type1");
  EXPECT_EQ(type1->info().bias_names[9], "original");
  for (int64_t i = 0; i < type1->size(); ++i) {
    if (type1->bias(i) != 9) continue;
    EXPECT_EQ(type1->get(i).image.pixels[1], 20);  // untouched
  }
  build(", corruptions: [fog, original, contrast, snow, jpeg_compression, pixelate, saturate, brightness, zoom_blur, elastic]", "own");
  EXPECT_EQ(open("", "own")->info().bias_names[4], "jpeg");
  const auto pixels = [&](const CorruptedCifar10Recipe& recipe) { return corrupted_cifar10_parts(recipe).train->get(0).image.pixels; };
  const auto recipe = CorruptedCifar10Recipe{.root = folder_ / "cifar", .valid_fraction = 0, .corruptions = "type1"};
  auto other_seed = recipe, milder = recipe;
  other_seed.seed = 1;
  milder.severity = 1;
  EXPECT_NE(pixels(recipe), pixels(other_seed));
  EXPECT_NE(pixels(recipe), pixels(milder));
}

TEST_F(CorruptedCifar10, RefusesWhatItCannotMake) {
  const auto message = [&](const std::string& more) { return usage_error_of([&] { build(more); }); };
  EXPECT_THAT(message(", corruptions: tyep0"), HasSubstr("did you mean 'type0'"));
  EXPECT_THAT(message(", corruptions: [snow]"), HasSubstr("a list of ten"));
  EXPECT_THAT(message(", corruptions: [snow, fog]"), HasSubstr("expected ten, one a class, found 2"));
  EXPECT_THAT(message(", corruptions: [snow, snow]"), HasSubstr("given twice"));
  EXPECT_THAT(message(", corruptions: [snow, snwo]"), HasSubstr("did you mean 'snow'"));
  EXPECT_THAT(message(", ratios: [5pc]"), HasSubstr("unknown share '5pc'; did you mean '5pct'"));
  EXPECT_THAT(message(", ratios: [1pct, 1pct]"), HasSubstr("1pct is given twice"));
  EXPECT_THAT(message(", ratios: [1pct], correlation: 0.9"), HasSubstr("leave one out"));
  EXPECT_THAT(message(", severity: 6"), HasSubstr("[1, 5]"));
  EXPECT_THAT(message(", valid_fraction: 1"), HasSubstr("[0, 1)"));
  EXPECT_THAT(message(", correlation: 1.5"), HasSubstr("[0, 1]"));
  EXPECT_THAT(data_error_of([&] { build(", frost: " + (folder_ / "nowhere")); }), HasSubstr("nowhere"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "made"));
}

TEST_F(CorruptedCifar10, ReadsThePublishedArchive) {
  const auto add = [&](const std::string& path) { write(folder_ / ("cifar10c/" + path), encode_png(solid(32, 32, 1, 2, 3))); };
  add("0.5pct/align/0/1_0_0.png");
  add("0.5pct/align/1/2_1_1.png");
  add("0.5pct/conflict/1/1_1_0.png");
  add("0.5pct/valid/1/1_1_1.png");
  add("5pct/align/0/1_0_0.png");
  add("5pct/conflict/0/1_0_9.png");
  add("test/3/1_3_4.png");
  EXPECT_EQ(open(", ratio: 0.5pct", "cifar10c")->size(), 3);
  EXPECT_EQ(open(", ratio: 5pct", "cifar10c")->size(), 2);
  EXPECT_EQ(open(", ratio: 0.5pct, split: valid", "cifar10c")->size(), 1);
  EXPECT_EQ(open(", ratio: 0.5pct, split: test", "cifar10c")->bias(0), 4);
  EXPECT_EQ(open(", split: train", "cifar10c/5pct")->size(), 2);  // one share's folder is like a made one
  EXPECT_THAT(usage_error_of([&] { open("", "cifar10c"); }), HasSubstr("write ratio: 0.5pct"));
  EXPECT_THAT(data_error_of([&] { open(", ratio: 1pct", "cifar10c"); }), HasSubstr("cifar10c/1pct/align"));
  EXPECT_THAT(data_error_of([&] { open("", "cifar"); }), AllOf(HasSubstr("cifar/align"), HasSubstr("no such folder")));
}

}  // namespace corrupted_cifar10_test
}  // namespace debias
