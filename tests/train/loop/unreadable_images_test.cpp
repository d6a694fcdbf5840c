// Training images that cannot be read, over a resume.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "debias/image/image_encode.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/small_recipe.h"
#include "tests/train/training.h"

namespace debias {
namespace unreadable_images_test {

// Twelve images in two class folders, every fourth cut short.
void write_images(const std::string& root) {
  for (int i = 0; i < 12; ++i) {
    const std::string folder = fmt::format("{}/{}", root, i % 2 == 0 ? "even" : "odd");
    std::filesystem::create_directories(folder);
    Image image{16, 16, 3, std::vector<uint8_t>(16 * 16 * 3)};
    for (size_t k = 0; k < image.pixels.size(); ++k) image.pixels[k] = static_cast<uint8_t>(k * (i + 3));
    const std::vector<uint8_t> bytes = encode_png(image);
    const size_t kept = i % 4 == 0 ? bytes.size() / 2 : bytes.size();
    std::ofstream(fmt::format("{}/{}.png", folder, i), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(kept));
  }
}

TEST(UnreadableImages, AreReplacedAndCountedAlikeAfterAResume) {
  const TemporaryFolder folder;
  write_images(folder / "data");
  const auto config = [&](const std::string& output) {
    Config root =
        changed(small_config(output),
                {"data={on_error: substitute, train: {name: image_folder, root: " + (folder / "data") + "}}", "train.batch_size=4"});
    return root;
  };
  train(input_for(config(folder / "whole")));
  for (const auto& line : metric_lines(folder / "whole")) {
    if (line.contains("step")) continue;
    EXPECT_EQ(line.at("substituted"), 3);
  }
  for (const int64_t steps : {1, 2, 3, 5}) {  // 3 steps an epoch
    const std::string path = fmt::format("{}/stopped{}", folder.path(), steps);
    train_in_two(config(path), path, steps);
    expect_same_run(folder / "whole", path);
  }
}

}  // namespace unreadable_images_test
}  // namespace debias
