// `debias views` as a process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "debias/core/atomic_file.h"
#include "tests/apps/process.h"

namespace debias {
namespace views_cli_test {

using testing::HasSubstr;

// One glyph as a PNG file.
std::string glyph_file(const TemporaryFolder& folder, const std::string& name) {
  const std::string path = folder / name;
  const auto made = run_debias({"data", "make", "glyphs", "train_count=20", "test_count=10", "size=24", "--out", folder / "glyphs"});
  EXPECT_EQ(made.exit, 0) << made.err;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / "glyphs")) {
    if (entry.path().extension() != ".png") continue;
    std::filesystem::copy_file(entry.path(), path);
    break;
  }
  return path;
}

class ViewsCli : public testing::Test {
 protected:
  ProcessResult apply(const std::vector<std::string>& steps, const std::string& out) const {
    return run_debias(with({"views", "apply", "--image", image_, "--out", folder_ / out}, steps));
  }
  // Width and height as the PNG's header has them.
  std::pair<int, int> size_of(const std::string& name) const {
    const std::string text = file_text(folder_ / name);
    if (text.size() < 24 || text.substr(1, 3) != "PNG") return {0, 0};
    const auto number = [&](size_t at) {
      return static_cast<unsigned char>(text[at + 2]) * 256 + static_cast<unsigned char>(text[at + 3]);
    };
    return {number(16), number(20)};
  }

  TemporaryFolder folder_;
  std::string image_ = glyph_file(folder_, "in.png");
};

TEST_F(ViewsCli, AppliesStepsInOrder) {
  ASSERT_EQ(apply({"crop: {top: 2, left: 1, height: 20, width: 10}", "resize: {size: 40}", "pad: {padding: 3}"}, "a.png").exit, 0);
  EXPECT_EQ(size_of("a.png"), std::pair(46, 86));
  ASSERT_EQ(apply({"pad: {padding: 3}", "resize: {size: [40, 12]}"}, "b.png").exit, 0);
  EXPECT_EQ(size_of("b.png"), std::pair(12, 40));
}

TEST_F(ViewsCli, EveryStepRunsAndTwiceMirroredIsTheSame) {
  ASSERT_EQ(apply({"hflip", "hflip: {}"}, "same.png").exit, 0);
  ASSERT_EQ(apply({"brightness: {factor: 1}"}, "plain.png").exit, 0);
  EXPECT_EQ(file_text(folder_ / "same.png"), file_text(folder_ / "plain.png"));
  for (const char* step :
       {"hflip: {}", "brightness: {factor: 0.5}", "contrast: {factor: 0.2}", "saturation: {factor: 0}", "hue: {factor: 0.3}",
        "grayscale: {}", "gaussian_blur: {kernel: 5, sigma: 1.5}", "rotate: {degrees: 30}", "rgb_to_lab: {}", "rgb_to_ycbcr: {}",
        "center_crop: {size: 12}", "resized_crop: {top: 1, left: 1, height: 9, width: 7, size: 24}"}) {
    ASSERT_EQ(apply({step}, "out.png").exit, 0) << step;
    EXPECT_NE(file_text(folder_ / "out.png"), file_text(folder_ / "plain.png")) << step;
  }
}

TEST_F(ViewsCli, RefusesWhatCannotBe) {
  for (const char* step : {"hue: {factor: 0.51}", "brightness: {factor: -0.1}", "crop: {top: 20, left: 0, height: 8, width: 4}",
                           "gaussian_blur: {kernel: 4, sigma: 1}", "no_such_step: {}", "hue: {turns: 0.1}", "[1, 2]"}) {
    const ProcessResult result = apply({step}, "never.png");
    EXPECT_EQ(result.exit, 2) << step << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "never.png")) << step;
  }
  write_file_atomically(folder_ / "text.png", "no picture");
  const ProcessResult result = run_debias({"views", "apply", "--image", folder_ / "text.png", "--out", folder_ / "never.png", "hflip"});
  EXPECT_EQ(result.exit, 3);
  EXPECT_THAT(result.err, HasSubstr("text.png"));
}

TEST_F(ViewsCli, ShowsAContactSheet) {
  const ProcessResult result =
      run_debias({"views", "show", "sup32", "--rows", "3", "--count", "4", "--out", folder_ / "sheet.png", "size=24"});
  ASSERT_EQ(result.exit, 0) << result.err;
  EXPECT_EQ(size_of("sheet.png"), std::pair(5 * 34 + 2, 3 * 34 + 2));
  const std::string first = file_text(folder_ / "sheet.png");
  run_debias({"views", "show", "sup32", "--rows", "3", "--count", "4", "--out", folder_ / "sheet.png", "size=24", "--seed", "2"});
  EXPECT_NE(file_text(folder_ / "sheet.png"), first);
  EXPECT_EQ(run_debias({"views", "show", "no_such_preset", "--out", folder_ / "x.png"}).exit, 2);
}

}  // namespace views_cli_test
}  // namespace debias
