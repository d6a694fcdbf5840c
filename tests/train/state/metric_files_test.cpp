#include "debias/train/state/metric_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "debias/core/error.h"
#include "tests/support/file_text.h"
#include "tests/support/kept_log.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace metric_files_test {

using testing::HasSubstr;

TEST(MetricFiles, TheTableIsTheUnionOfEpochLines) {
  EXPECT_EQ(epoch_table_csv("{\"epoch\":1,\"step\":2,\"loss\":9}\n{\"epoch\":1,\"train_loss\":0.5}\n"
                            "{\"epoch\":2,\"train_loss\":0.25,\"test.knn_acc1\":0.75}\n"),
            "epoch,train_loss,test.knn_acc1\n1,0.5,\n2,0.25,0.75\n");
}

TEST(MetricFiles, CuttingBackAndWritingAgainGivesTheSameBytes) {
  const TemporaryFolder folder;
  MetricMark kept;
  {
    MetricFiles files(folder.path(), {}, Log::silent());
    files.write({{"epoch", 1}, {"train_loss", 0.5}}, 1);
    kept = files.commit();
    files.write({{"epoch", 2}, {"train_loss", 0.25}}, 2);
    files.commit();
  }
  const std::string jsonl = file_text(folder.path() + "/metrics.jsonl"), csv = file_text(folder.path() + "/metrics.csv");
  {
    MetricFiles files(folder.path(), kept, Log::silent());
    EXPECT_EQ(file_text(folder.path() + "/metrics.jsonl").size(), static_cast<size_t>(kept.bytes));
    files.write({{"epoch", 2}, {"train_loss", 0.25}}, 2);
    files.commit();
  }
  EXPECT_EQ(file_text(folder.path() + "/metrics.jsonl"), jsonl);
  EXPECT_EQ(file_text(folder.path() + "/metrics.csv"), csv);
}

TEST(MetricFiles, AFileOtherThanTheCheckpointKnowsIsRefused) {
  const TemporaryFolder folder;
  MetricMark kept;
  {
    MetricFiles files(folder.path(), {}, Log::silent());
    files.write({{"epoch", 1}, {"train_loss", 0.5}}, 1);
    kept = files.commit();
  }
  std::string text = file_text(folder.path() + "/metrics.jsonl");
  text[text.find('5')] = '6';
  std::ofstream(folder.path() + "/metrics.jsonl") << text;
  EXPECT_THAT(data_error_of([&] { MetricFiles(folder.path(), kept, Log::silent()); }),
              HasSubstr("are not those recorded in the checkpoint"));
}

TEST(MetricFiles, AFileCutOrRemovedDuringTheRunIsNoticedAndWrittenAnew) {
  KeptLog log;
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/metrics.jsonl";
  MetricFiles files(folder.path(), {}, log);
  for (int epoch = 1; epoch <= 3; ++epoch) {
    files.write({{"epoch", epoch}}, epoch);
    files.commit();
    if (epoch == 1) std::filesystem::resize_file(path, 3);
    if (epoch == 2) std::filesystem::remove(path);
  }
  EXPECT_EQ(file_text(path), "{\"epoch\":1}\n{\"epoch\":2}\n{\"epoch\":3}\n");
  EXPECT_EQ(log.warnings.size(), 2u);
}

TEST(MetricFiles, AFileShorterThanTheCheckpointKnowsIsRefused) {
  const TemporaryFolder folder;
  EXPECT_THROW(MetricFiles(folder.path(), {10, ""}, Log::silent()), Error);
}

TEST(MetricFiles, EditedLinesOfARunWhoseCheckpointHasNoHashAreRefused) {
  const TemporaryFolder folder;
  for (const std::string line : {"{\"epoch\":1e999}", "{\"epoch\":", "[1]", "7", "{\"epoch\":1}}", ""}) {
    const std::string text = "{\"epoch\":1}\n" + line + "\n";
    std::ofstream(folder.path() + "/metrics.jsonl") << text;
    const MetricMark mark{static_cast<int64_t>(text.size()), ""};
    EXPECT_THAT(data_error_of([&] { MetricFiles(folder.path(), mark, Log::silent()); }), HasSubstr("line 2 of metrics.jsonl")) << line;
  }
}

TEST(TensorBoard, ChecksumIsCastagnolis) { EXPECT_EQ(crc32c("123456789", 9), 0xe3069283u); }

TEST(TensorBoard, RecordsAreFramedAndWhole) {
  const TemporaryFolder folder;
  {
    TensorBoardWriter writer(folder.path());
    writer.scalar("loss", 7, 0.5);
  }
  std::string bytes;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) bytes = file_text(entry.path());
  std::vector<std::string> records;
  const auto masked = [](const std::string& text) {
    const uint32_t crc = crc32c(text.data(), text.size());
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
  };
  for (size_t at = 0; at < bytes.size();) {
    uint64_t length;
    uint32_t length_crc, data_crc;
    std::memcpy(&length, &bytes[at], 8);
    std::memcpy(&length_crc, &bytes[at + 8], 4);
    EXPECT_EQ(length_crc, masked(bytes.substr(at, 8)));
    records.push_back(bytes.substr(at + 12, length));
    std::memcpy(&data_crc, &bytes[at + 12 + length], 4);
    EXPECT_EQ(data_crc, masked(records.back()));
    at += 16 + length;
  }
  ASSERT_EQ(records.size(), 2u);
  EXPECT_THAT(records[0], HasSubstr("brain.Event:2"));
  EXPECT_THAT(records[1], HasSubstr("loss"));
}

}  // namespace metric_files_test
}  // namespace debias
