// `debias train` on a folder of images, some of which cannot be read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "debias/core/npy.h"
#include "tests/apps/expect_complaint.h"
#include "tests/apps/photographs.h"

namespace debias {
namespace unreadable_images_test {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

std::vector<nlohmann::json> epoch_lines(const std::string& metrics) {
  std::vector<nlohmann::json> lines;
  std::istringstream text(metrics);
  for (std::string line; std::getline(text, line);) {
    if (auto json = nlohmann::json::parse(line); !json.contains("step")) lines.push_back(std::move(json));
  }
  return lines;
}

class UnreadableImages : public Photographs {
 protected:
  UnreadableImages() : Photographs("{size: 8}") {}
};

TEST_F(UnreadableImages, StopTheRunUnlessAskedOtherwise) {
  truncate("dog", 3);
  for (const std::vector<std::string>& words : {std::vector<std::string>{}, std::vector<std::string>{"data.on_error=stop"}}) {
    const auto result = train("run" + std::to_string(words.size()), words);
    EXPECT_EQ(result.exit, 3);
    EXPECT_THAT(result.err, AllOf(HasSubstr(image("dog", 3)), HasSubstr("truncated JPEG image")));
  }
}

TEST_F(UnreadableImages, AreReplacedCountedAndNamedOnce) {
  truncate("dog", 3);
  const auto result = train("run", {"data.on_error=substitute"});
  ASSERT_EQ(result.exit, 0) << result.err;
  EXPECT_EQ(times("warning: " + image("dog", 3) + ": truncated JPEG image", result.err), 1u) << result.err;
  EXPECT_EQ(times(image("dog", 3), file_text(folder_ / "run" + "/train.log")), 1u);
  const auto lines = epoch_lines(metrics("run"));
  ASSERT_EQ(lines.size(), 2u);
  for (const auto& line : lines) EXPECT_EQ(line.at("substituted"), 1);
  EXPECT_THAT(file_text(folder_ / "run" + "/config.yaml"), HasSubstr("on_error: substitute"));
}

TEST_F(UnreadableImages, AreLeftOutWhereEvaluationsReadTrainingImages) {
  truncate("dog", 3);
  const std::string test = "data.test={name: image_folder, root: " + (folder_ / "evaluated") + "}";
  for (const char* group : {"cat", "dog"}) {
    fs::create_directories(folder_ / "evaluated" + "/" + group);
    fs::copy_file(whole(), folder_ / "evaluated" + "/" + group + "/0.jpg");
  }
  const auto result = train("run", {"data.on_error=substitute", test, "evaluate={every: 1, protocols: [knn], knn: {k: 3}}"});
  ASSERT_EQ(result.exit, 0) << result.err;
  const auto evaluated = run_debias({"eval", "knn,linear_dcl", folder_ / "run", "linear_dcl.epochs=1", "knn.k=3"});
  ASSERT_EQ(evaluated.exit, 0) << evaluated.err;
  EXPECT_THAT(evaluated.err, HasSubstr("knn: 1 of 12 training images cannot be read and are left out"));
  EXPECT_EQ(nlohmann::json::parse(file_text(folder_ / "run" + "/evaluation/knn.json"))["counts"]["train"], 11);
  fs::resize_file(folder_ / "evaluated" + "/cat/0.jpg", 300);
  EXPECT_EQ(run_debias({"eval", "knn", folder_ / "run", "knn.k=3"}).exit, 3);
}

TEST_F(UnreadableImages, AreSkippedAndNamedByEmbedIfAsked) {
  ASSERT_EQ(train("run", {"train.epochs=1"}).exit, 0);
  ASSERT_EQ(run_debias({"export", folder_ / "run", "--format", "safetensors"}).exit, 0);
  truncate("dog", 3);
  const std::string data = folder_ / "data", z = folder_ / "z.npy", z_rows = folder_ / "z.csv";
  std::ofstream(folder_ / "frozen.yaml") << "data: {train: {name: image_folder, root: " << data << "}}\n"
                                         << "views: {steps: [resize: {size: [16, 16]}], count: 2}\n"
                                         << "encoder: {name: resnet18, width: 8, weights: "
                                         << (folder_ / "run/exported/encoder.safetensors")
                                         << "}\nobjective: {name: infonce}\ntrain: {epochs: 1, batch_size: 4}\n";
  const std::vector<std::vector<std::string>> ways = {
      {"embed", folder_ / "run", "--data", "image_folder", "--root", data, "split=train", "--out", z},
      {"embed", data, "--encoder", folder_ / "frozen.yaml", "--out", z}};
  for (const auto& words : ways) {
    fs::remove(z);
    expect_one_line(run_debias(words), 3, image("dog", 3));
    EXPECT_FALSE(fs::exists(z));
    const auto result = run_debias(with(words, {"--on-error", "skip", "--json"}));
    ASSERT_EQ(result.exit, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("warning: embed: 1 image that cannot be read: no row for dog/3.jpg"));
    const auto json = nlohmann::json::parse(result.out);
    EXPECT_EQ(json["count"], 11);
    EXPECT_EQ(json["skipped"], nlohmann::json({"dog/3.jpg"}));
    EXPECT_EQ(read_npy(z).shape.at(0), 11);
    const std::string rows = file_text(z_rows);
    EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 12);
    EXPECT_THAT(rows, AllOf(HasSubstr("dog/2.jpg,"), HasSubstr("dog/4.jpg,"), testing::Not(HasSubstr("dog/3.jpg"))));
  }
  const auto again = run_debias(with(ways[1], {"--on-error", "skip", "--json"}));
  EXPECT_TRUE(nlohmann::json::parse(again.out)["reused"]);
  EXPECT_EQ(nlohmann::json::parse(again.out)["skipped"], nlohmann::json({"dog/3.jpg"}));
  EXPECT_EQ(run_debias(ways[1]).exit, 3);  // what was made without an image is no answer to a call that needs it
  expect_one_line(run_debias({"embed", folder_ / "run", "--bias-features", "--out", z, "--on-error", "skip"}), 2,
                  "--bias-features needs all");
}

TEST_F(UnreadableImages, GiveTheSameRunForAnyWorkers) {
  for (const int number : {0, 2, 5}) truncate("cat", number);
  std::string expected;
  for (const char* workers : {"0", "1", "3"}) {
    const std::string name = std::string("run") + workers;
    ASSERT_EQ(train(name, {"data.on_error=substitute", std::string("train.workers=") + workers}).exit, 0);
    if (expected.empty()) expected = metrics(name);
    EXPECT_EQ(metrics(name), expected) << workers;
  }
}

TEST_F(UnreadableImages, AndNothingElseEndTheRunWithTheFirstOfThem) {
  for (int i = 0; i < 6; ++i) {
    truncate("cat", i);
    truncate("dog", i);
  }
  const auto result = train("run", {"data.on_error=substitute"});
  expect_one_line(result, 3, image("cat", 0));
  EXPECT_THAT(result.err, HasSubstr("nor can 11 others"));
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

TEST_F(UnreadableImages, DoNotExcuseAWrongRootOrWord) {
  const auto root = train("run", {"data.on_error=substitute", "data.train.root=" + (folder_ / "nowhere")});
  EXPECT_EQ(root.exit, 3);
  EXPECT_THAT(root.err, HasSubstr(folder_ / "nowhere"));
  const auto word = train("run", {"data.on_error=skip"});
  EXPECT_EQ(word.exit, 2);
  EXPECT_THAT(word.err, HasSubstr("data: on_error: unknown value 'skip'"));
  EXPECT_THAT(train("run", {"data.on_eror=stop"}).err, HasSubstr("did you mean 'on_error'?"));
}

TEST_F(UnreadableImages, ADryRunShowsTheChoice) {
  truncate("dog", 3);
  EXPECT_THAT(train("run", {"--dry-run", "data.on_error=substitute"}).out, HasSubstr("on_error: substitute"));
  fs::copy_file(whole(), image("dog", 3), fs::copy_options::overwrite_existing);
  EXPECT_THAT(train("run", {"--dry-run"}).out, HasSubstr("on_error: stop"));
}

}  // namespace unreadable_images_test
}  // namespace debias
