#include "debias/data/builders/biased_mnist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <set>

#include "debias/data/readers/mnist.h"
#include "tests/data/fixture_files.h"
#include "tests/support/refusals.h"

namespace debias {
namespace biased_mnist_test {

using namespace fixture;
using testing::AllOf;
using testing::HasSubstr;
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

}  // namespace biased_mnist_test
}  // namespace debias
