// Trainings on a full disk and with images that cannot be read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "debias/core/atomic_file.h"
#include "debias/image/image_encode.h"
#include "debias/train/state/checkpoint.h"
#include "debias/train/state/metric_files.h"
#include "tests/support/refusals.h"
#include "tests/support/small_disk.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/small_recipe.h"
#include "tests/train/training.h"

namespace debias {
namespace failures_test {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Training on a disk that fills up.

constexpr int64_t kDisk = 16 << 20;

// Fills the disk at a step, and does something when somebody complains of it.
class Filling : public Progress, public Log {
 public:
  Filling(const SmallDisk& disk, int64_t step, std::function<void()> on_complaint)
      : disk_(disk), left_(step), on_complaint_(std::move(on_complaint)) {}
  void advance(int64_t, const std::string&) override {
    if (--left_ == 0) disk_.fill(0);
  }
  void warn(const std::string& line) override {
    warnings.push_back(line);
    on_complaint_();
  }
  std::vector<std::string> warnings;

 private:
  const SmallDisk& disk_;
  int64_t left_;
  std::function<void()> on_complaint_;
};

TrainInput input_on(const SmallDisk& disk, Filling& filling, const std::string& policy) {
  TrainInput input = input_for(changed(small_config(disk / "run"), {"train.on_full_disk=" + policy}));
  input.progress = &filling;
  input.log = &filling;
  input.full_disk_retry = std::chrono::milliseconds(1);
  return input;
}

TEST(FullDisk, EndsTheRunWithNeedAndRoomAndResumingGivesTheSameBytes) {
  const SmallDisk disk(kDisk);
  if (!disk.is_there()) GTEST_SKIP() << "nothing can be mounted here";
  const TemporaryFolder whole;
  train(input_for(small_config(whole / "run")));
  Filling filling(disk, 9, [] {});  // in the second of three epochs
  TrainInput input = input_on(disk, filling, "stop");
  EXPECT_THAT(error_of(ErrorKind::kResource, [&] { train(input); }), HasSubstr("bytes are needed"));
  disk.make_room();
  input.existing = ExistingFolder::kResume;
  train(input);
  expect_same_run(disk / "run", whole / "run");
}

TEST(FullDisk, WaitsForRoomAndEndsWithTheSameBytes) {
  const SmallDisk disk(kDisk);
  if (!disk.is_there()) GTEST_SKIP() << "nothing can be mounted here";
  const TemporaryFolder whole;
  train(input_for(small_config(whole / "run")));
  Filling filling(disk, 9, [&] { disk.make_room(); });
  train(input_on(disk, filling, "wait"));
  ASSERT_EQ(filling.warnings.size(), 1u);
  EXPECT_THAT(filling.warnings[0], HasSubstr("waiting for space"));
  EXPECT_EQ(filling.warnings[0].find('\n'), std::string::npos);
  expect_same_run(disk / "run", whole / "run");
}

TEST(FullDisk, AStopSignalEndsTheWaiting) {
  const SmallDisk disk(kDisk);
  if (!disk.is_there()) GTEST_SKIP() << "nothing can be mounted here";
  std::atomic<int> signal{0};
  Filling filling(disk, 9, [&] { signal = SIGTERM; });
  TrainInput input = input_on(disk, filling, "wait");
  input.stop_signal = &signal;
  EXPECT_THAT(error_of(ErrorKind::kInterrupted, [&] { train(input); }),
              HasSubstr("stopped by SIGTERM after step 12 while waiting for space"));
  EXPECT_EQ(open_checkpoint(disk / "run/checkpoints/last.safetensors").state.step, 6);
}

class FillingEvaluation : public TrainObserver {
 public:
  FillingEvaluation(const SmallDisk& disk) : disk_(disk) {}
  std::vector<std::pair<std::string, double>> after_epoch(const EpochEnd& end) override {
    if (++calls == 2) {
      disk_.fill(0);
      std::ofstream(disk_ / "gone") << "";
      errno = ENOSPC;
      throw DiskFull(disk_ / "evaluation", 100'000);
    }
    return {{"valid.x", static_cast<double>(end.epoch)}};
  }
  int calls = 0;

 private:
  const SmallDisk& disk_;
};

TEST(FullDisk, AnEvaluationThatWaitedIsMadeAgainAndHasNotFailed) {
  const SmallDisk disk(kDisk);
  if (!disk.is_there()) GTEST_SKIP() << "nothing can be mounted here";
  Filling filling(disk, -1, [&] { disk.make_room(); });
  TrainInput input = input_on(disk, filling, "wait");
  const auto evaluation = std::make_shared<FillingEvaluation>(disk);
  input.observers = {evaluation};
  const TrainResult result = train(input);
  EXPECT_TRUE(result.failed_evaluations.empty());
  EXPECT_EQ(evaluation->calls, 4);
  EXPECT_EQ(filling.warnings.size(), 1u);
}

TEST(FullDisk, MetricFilesAreWholeAtEveryMomentAndCommitOnceThereIsRoom) {
  const SmallDisk disk(kDisk);
  if (!disk.is_there()) GTEST_SKIP() << "nothing can be mounted here";
  Filling log(disk, -1, [] {});
  fs::create_directories(disk / "run");
  MetricFiles files(disk / "run", {}, log);
  const std::string long_text(20'000, 'x');
  files.write({{"epoch", 1}}, 1);
  files.commit();
  disk.fill(5'000);
  files.write({{"epoch", 2}, {"text", long_text}}, 2);
  EXPECT_THROW(files.commit(), DiskFull);
  EXPECT_EQ(file_text(disk / "run/metrics.jsonl"), "{\"epoch\":1}\n");
  disk.fill(25'000);  // for the lines, and not for the table
  EXPECT_THROW(files.commit(), DiskFull);
  disk.make_room();
  files.commit();
  EXPECT_THAT(file_text(disk / "run/metrics.jsonl"), HasSubstr(long_text + "\"}\n"));
  EXPECT_THAT(file_text(disk / "run/metrics.csv"), HasSubstr(long_text));
  EXPECT_TRUE(log.warnings.empty()) << log.warnings[0];
}

// Training images that cannot be read, over a resume.

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
  const Config root =
      changed(small_config(""),
              {"data={on_error: substitute, train: {name: image_folder, root: " + (folder / "data") + "}}", "train.batch_size=4"});
  expect_resumes(folder, root, {1, 2, 3, 5});  // 3 steps an epoch
  for (const auto& line : metric_lines(folder / "whole")) {
    if (line.contains("step")) continue;
    EXPECT_EQ(line.at("substituted"), 3);
  }
}

}  // namespace failures_test
}  // namespace debias
