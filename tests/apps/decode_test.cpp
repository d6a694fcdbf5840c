// `debias train` with `data.decode`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/apps/process.h"
#include "tests/support/golden_folder.h"

namespace debias {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const char* const kRecipe = R"(
seed: 2
views: {preset: sim32, count: 2, random_resized_crop: {size: 4, scale: [0.6, 1]}}
encoder: {name: resnet18, width: 8}
objective: {name: infonce}
train: {epochs: 2, batch_size: 6, device: cpu, threads: 1, log_every: 1}
)";

class DecodeOption : public testing::Test {
 protected:
  DecodeOption() {
    std::ofstream(folder_ / "recipe.yaml") << kRecipe;
    for (const char* group : {"cat", "dog"}) {
      fs::create_directories(folder_ / "data" + "/" + group);
      for (int i = 0; i < 6; ++i) fs::copy_file(golden_folder("images") + "/colour.jpg", image(group, i));
    }
  }
  std::string image(const std::string& group, int number) const {
    return folder_ / "data" + "/" + group + "/" + std::to_string(number) + ".jpg";
  }
  ProcessResult train(const std::string& name, const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"train", folder_ / "recipe.yaml", "output=" + (folder_ / name),
                                      "data.train={name: image_folder, root: " + (folder_ / "data") + "}"};
    words.insert(words.end(), more.begin(), more.end());
    return run_debias(words);
  }
  std::string metrics(const std::string& name) const { return file_text(folder_ / name + "/metrics.jsonl"); }
  TemporaryFolder folder_;
};

TEST_F(DecodeOption, ScaledIsAnotherRunAndTheSameForAnyWorkers) {
  ASSERT_EQ(train("plain", {}).exit, 0);
  ASSERT_EQ(train("exact", {"data.decode=exact"}).exit, 0);
  EXPECT_EQ(metrics("exact"), metrics("plain"));
  for (const char* workers : {"0", "1", "2"}) {
    const auto result = train(workers, {"data.decode=scaled", std::string("train.workers=") + workers});
    ASSERT_EQ(result.exit, 0) << result.err;
    EXPECT_EQ(metrics(workers), metrics("0")) << workers;
  }
  EXPECT_NE(metrics("0"), metrics("exact"));
  EXPECT_THAT(file_text(folder_ / "plain/config.yaml"), HasSubstr("decode: exact"));
  EXPECT_THAT(file_text(folder_ / "0/config.yaml"), HasSubstr("decode: scaled"));
}

TEST_F(DecodeOption, ATruncatedFileEndsTheRunInTheSameLine) {
  fs::resize_file(image("dog", 3), fs::file_size(image("dog", 3)) - 40);
  const auto exact = train("exact", {}), scaled = train("scaled", {"data.decode=scaled"});
  EXPECT_EQ(exact.exit, 3);
  EXPECT_EQ(scaled.exit, 3);
  EXPECT_THAT(exact.err, HasSubstr(image("dog", 3) + ": truncated JPEG image"));
  EXPECT_EQ(scaled.err, exact.err);
}

TEST_F(DecodeOption, AWrongWordIsNamed) {
  const auto word = train("run", {"data.decode=half"});
  EXPECT_EQ(word.exit, 2);
  EXPECT_THAT(word.err, HasSubstr("data: decode: unknown value 'half'"));
  EXPECT_THAT(train("run", {"data.decod=exact"}).err, HasSubstr("did you mean 'decode'?"));
}

}  // namespace
}  // namespace debias
