// `debias views` as a process.
#include "tests/apps/command.h"

namespace debias::views_cli_test {

// One glyph as a PNG file.
std::string glyph_file(const TemporaryFolder& folder, const std::string& name) {
  const std::string path = folder / name;
  done({"data", "make", "glyphs", "train_count=20", "test_count=10", "size=24", "--out", folder / "glyphs"});
  for (const auto& entry : fs::recursive_directory_iterator(folder / "glyphs")) {
    if (entry.path().extension() != ".png") continue;
    fs::copy_file(entry.path(), path);
    break;
  }
  return path;
}

class ViewsCli : public InFolder {
 protected:
  ProcessResult apply(const Words& steps, const std::string& out) const {
    return run_debias(with({"views", "apply", "--image", image_, "--out", out}, steps));
  }
  // Width and height as the PNG's header has them.
  std::pair<int, int> size_of(const std::string& name) const {
    const std::string text = file_text(name);
    if (text.size() < 24 || text.substr(1, 3) != "PNG") return {0, 0};
    const auto number = [&](size_t at) {
      return static_cast<unsigned char>(text[at + 2]) * 256 + static_cast<unsigned char>(text[at + 3]);
    };
    return {number(16), number(20)};
  }

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
  EXPECT_EQ(file_text("same.png"), file_text("plain.png"));
  for (const char* step :
       {"hflip: {}", "brightness: {factor: 0.5}", "contrast: {factor: 0.2}", "saturation: {factor: 0}", "hue: {factor: 0.3}",
        "grayscale: {}", "gaussian_blur: {kernel: 5, sigma: 1.5}", "rotate: {degrees: 30}", "rgb_to_lab: {}", "rgb_to_ycbcr: {}",
        "center_crop: {size: 12}", "resized_crop: {top: 1, left: 1, height: 9, width: 7, size: 24}"}) {
    ASSERT_EQ(apply({step}, "out.png").exit, 0) << step;
    EXPECT_NE(file_text("out.png"), file_text("plain.png")) << step;
  }
}

TEST_F(ViewsCli, ShowsAContactSheet) {
  done({"views", "show", "sup32", "--rows", "3", "--count", "4", "--out", "sheet.png", "size=24"});
  EXPECT_EQ(size_of("sheet.png"), std::pair(5 * 34 + 2, 3 * 34 + 2));
  const std::string first = file_text("sheet.png");
  run_debias({"views", "show", "sup32", "--rows", "3", "--count", "4", "--out", "sheet.png", "size=24", "--seed", "2"});
  EXPECT_NE(file_text("sheet.png"), first);
}

}  // namespace debias::views_cli_test
