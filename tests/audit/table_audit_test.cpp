// Audits of feature tables: columns as shortcuts, directions worth a look at most.
#include "debias/audit/folder_audit.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>

#include "debias/audit/bias_file.h"
#include "debias/core/npy.h"
#include "debias/core/philox.h"
#include "debias/data/readers/csv_table.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace table_audit_test {

using testing::HasSubstr;

class TableAuditTest : public testing::Test {
 protected:
  static constexpr int64_t kRows = 400, kDimensions = 20;

  // The class moves all dimensions a little; `site` agrees with it for nine rows of ten, `hour` never does.
  TableAuditTest() {
    Random random({.seed = 9});
    std::vector<float> z;
    std::ofstream csv(folder_ / "c.csv");
    csv << "path,label,split,site,hour\n";
    for (int64_t i = 0; i < kRows; ++i) {
      const int64_t label = i % 2;
      for (int64_t k = 0; k < kDimensions; ++k) z.push_back(static_cast<float>(random.normal() + 0.5 * static_cast<double>(label)));
      csv << "p" << i << "," << (label == 0 ? "ape" : "bee") << "," << (i < 320 ? "train" : "test") << ","
          << (i % 20 < 18 ? label : 1 - label) << "," << random.below(24) << "\n";
    }
    write_npy(folder_ / "z.npy", DType::kFloat32, {kRows, kDimensions}, z.data());
  }
  FolderAudit audited(std::vector<std::string> columns = {}, const std::string& split = "") const {
    return audit_table({folder_ / "z.npy", folder_ / "c.csv", std::move(columns), split, "", "", {}, {}}, 0);
  }

  TemporaryFolder folder_;
};

TEST_F(TableAuditTest, AColumnThatGoesWithTheClassIsAShortcutAndADirectionIsWorthALook) {
  const AuditResult result = audited().result;
  EXPECT_EQ(result.images, 320);
  const AuditFinding& first = result.findings.front();
  EXPECT_EQ(first.property.name, "column site");
  EXPECT_EQ(first.verdict, AuditVerdict::kShortcut);
  EXPECT_TRUE(first.property.exact);
  EXPECT_NEAR(first.tested.in_class, 0.9, 1e-9);
  EXPECT_NEAR(first.tested.elsewhere, 0.1, 1e-9);
  EXPECT_EQ(result.of(AuditVerdict::kShortcut).size(), 1u);
  const AuditFinding& direction = finding_named(result, "direction 1", "test");
  EXPECT_EQ(direction.verdict, AuditVerdict::kLook);  // the class is what varies most
  EXPECT_THAT(not_detectable(result), testing::Contains(HasSubstr("a direction or a cluster is worth a look at most")));
}

TEST_F(TableAuditTest, GroupsOfAColumnCountOnceAndAnExpectedPropertyIsNoAlarm) {
  AuditTableOptions options{folder_ / "z.npy", folder_ / "c.csv", {}, "", "", "", {"hour"}, {}};
  EXPECT_EQ(audit_table(options, 0).result.groups.count, 24);
  options.group = {};
  options.expected.names = {"site"};
  const AuditResult expected = audit_table(options, 0).result;
  EXPECT_TRUE(expected.findings.front().expected);
  EXPECT_FALSE(expected.findings.front().is_alarm());
  options.expected.names = {"sit"};
  EXPECT_THAT(usage_error_of([&] { audit_table(options, 0); }), HasSubstr("audit: --expect: no candidate 'sit'"));
}

// Four heaps of features: a class and a mark that goes with it for nine rows of ten. Within a class, the clusters tell the mark.
class ClusterAuditTest : public testing::Test {
 protected:
  static constexpr int64_t kRows = 600, kDimensions = 12;

  ClusterAuditTest() {
    Random random({.seed = 21});
    std::vector<float> z;
    std::ofstream csv(folder_ / "c.csv");
    csv << "path,label,split\n";
    for (int64_t i = 0; i < kRows; ++i) {
      const int64_t label = i % 2;
      marks_.push_back(i % 20 < 18 ? label : 1 - label);
      for (int64_t k = 0; k < kDimensions; ++k) {
        z.push_back(static_cast<float>(random.normal() + (k == 0 ? 8.0 * static_cast<double>(marks_.back()) : 0)));
      }
      csv << "p" << i << "," << (label == 0 ? "ape" : "bee") << "," << (i < 480 ? "train" : "test") << "\n";
    }
    write_npy(folder_ / "z.npy", DType::kFloat32, {kRows, kDimensions}, z.data());
  }

  TemporaryFolder folder_;
  std::vector<int64_t> marks_;
};

TEST_F(ClusterAuditTest, ClustersShowARareMarkWithinAClassForTheRowsOfAllSplits) {
  const FolderAudit audit = audit_table({folder_ / "z.npy", folder_ / "c.csv", {}, "", "", "", {}, {}}, 0);
  const AuditFinding& clusters = finding_named(audit.result, "clusters", "test");
  EXPECT_EQ(clusters.verdict, AuditVerdict::kLook);
  EXPECT_TRUE(clusters.assignable());
  // Each cluster is of one mark, in the rows that were audited and in the others.
  std::map<std::string, std::array<int64_t, 2>> of_cluster;
  const std::string csv = bias_file(audit, "clusters");
  std::ofstream(folder_ / "bias.csv") << csv;
  const std::vector<CsvRecord> records = read_csv(folder_ / "bias.csv");
  ASSERT_EQ(records.size(), marks_.size() + 1);
  for (size_t i = 0; i < marks_.size(); ++i) ++of_cluster[records[i + 1].fields[2]][static_cast<size_t>(marks_[i])];
  int64_t mixed = 0;
  for (const auto& [name, counts] : of_cluster) mixed += std::min(counts[0], counts[1]);
  EXPECT_LT(mixed, 10);
}

TEST_F(TableAuditTest, ValuesAreGivenForTheRowsOfAllSplits) {
  const std::string csv = bias_file(audited(), "site");
  EXPECT_THAT(csv, testing::StartsWith("path,label,bias,split\n"));
  EXPECT_THAT(csv, HasSubstr("\np0,ape,0,train"));
  EXPECT_THAT(csv, HasSubstr("\np18,ape,1,train"));
  EXPECT_THAT(csv, HasSubstr("\np397,bee,1,test"));
  EXPECT_THAT(csv, HasSubstr("\np399,bee,0,test"));
  EXPECT_THAT(csv, testing::Not(HasSubstr(",,")));
}

// 40 videos of ten frames, of one class and one operator each; the operator has nothing to do with the class.
class VideoAuditTest : public testing::Test {
 protected:
  static constexpr int64_t kVideos = 40, kFrames = 10, kDimensions = 16;

  // `noise`: how far frames are apart, where videos are 1 apart. A name gets the video's number and the frame's.
  AuditResult audited(double noise, const char* name, uint64_t seed = 3) const {
    Random random({.seed = seed});
    std::vector<float> z;
    std::ofstream csv(folder_ / "c.csv");
    csv << "path,label,operator\n";
    for (int64_t video = 0; video < kVideos; ++video) {
      std::vector<double> scene;
      for (int64_t k = 0; k < kDimensions; ++k) scene.push_back(random.normal());
      const int64_t who = random.below(2);
      for (int64_t frame = 0; frame < kFrames; ++frame) {
        for (const double value : scene) z.push_back(static_cast<float>(value + noise * random.normal()));
        csv << fmt::format(fmt::runtime(name), video, frame) << (video % 2 == 0 ? ",run," : ",walk,") << who << "\n";
      }
    }
    csv.close();
    write_npy(folder_ / "z.npy", DType::kFloat32, {kVideos * kFrames, kDimensions}, z.data());
    return audit_table({folder_ / "z.npy", folder_ / "c.csv", {}, "", "", "", {}, {}}, 0).result;
  }

  TemporaryFolder folder_;
};

TEST_F(VideoAuditTest, FramesOfOneVideoAreOneGroupByTheirNames) {
  const AuditResult result = audited(2, "vid{:02}_frame{:04}.png");
  EXPECT_EQ(result.groups.count, kVideos);
  EXPECT_EQ(result.groups.from, "file name to number 1");
  EXPECT_TRUE(result.of(AuditVerdict::kShortcut).empty());
}

TEST_F(VideoAuditTest, FramesOfOneVideoAreOneGroupByTheirFeatures) {
  for (const double noise : {0.05, 0.15, 0.3}) {
    const AuditResult result = audited(noise, "{}{}");
    EXPECT_NEAR(result.groups.count, kVideos, 4) << noise;
    EXPECT_EQ(result.groups.from, "near-copies");
    EXPECT_TRUE(result.of(AuditVerdict::kShortcut).empty());
    EXPECT_THAT(result.notes, testing::Contains(HasSubstr("of the rows have near-copies")));
  }
  EXPECT_EQ(audited(2, "{}{}").groups.from, "none");
}

TEST_F(TableAuditTest, RowsThatAreFarApartAndFeaturesThatCollapseOntoClassesAreNoGroups) {
  EXPECT_EQ(audited().result.groups.from, "none");
  Random random({.seed = 5});
  std::vector<float> z;
  std::ofstream csv(folder_ / "c.csv");
  csv << "path,label\n";
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t k = 0; k < kDimensions; ++k) z.push_back(static_cast<float>((k == i % 10 ? 10 : 0) + 0.3 * random.normal()));
    csv << "q" << i << ",c" << i % 10 << "\n";
  }
  csv.close();
  write_npy(folder_ / "z.npy", DType::kFloat32, {kRows, kDimensions}, z.data());
  EXPECT_EQ(audited().result.groups.from, "none");
}

TEST_F(TableAuditTest, AColumnTitledPatientOfBothClassesIsProposedAsGroup) {
  const auto rewritten = [&](const char* title) {
    std::ofstream csv(folder_ / "c.csv");
    csv << "path,label," << title << "\n";
    for (int64_t i = 0; i < kRows; ++i) csv << "p" << i << "," << (i % 2 == 0 ? "ape" : "bee") << "," << i / 8 << "\n";
    csv.close();
    return audited().result.notes;
  };
  EXPECT_THAT(rewritten("patient_id"), testing::Contains("column patient_id has 50 values in 400 rows: rows of one value are not "
                                                         "independent; if it names what belongs together, add --group patient_id"));
  EXPECT_THAT(rewritten("shelf"), testing::Not(testing::Contains(HasSubstr("--group"))));
}

TEST(ColumnProperty, FewNumbersAreNamesAndMoreAreBins) {
  AuditColumn sites{"site", {}}, ages{"age", {}};
  for (int i = 0; i < 360; ++i) {
    sites.values.push_back(std::to_string(7000 + i % 12));
    ages.values.push_back(i == 0 ? "NA" : std::to_string(i % 100));
  }
  EXPECT_FALSE(column_property(sites).ordered);
  EXPECT_EQ(column_property(sites).count(), 12);
  EXPECT_TRUE(column_property(ages).ordered);
  EXPECT_EQ(column_property(ages).count(), 17);  // one of unknown values
  EXPECT_EQ(column_property(ages).values[0], 0);
}

TEST_F(TableAuditTest, RefusesUnknownColumnsAndSplits) {
  EXPECT_THAT(usage_error_of([&] { audited({"sites"}); }), HasSubstr("did you mean 'site'?"));
  EXPECT_THAT(usage_error_of([&] { audited({}, "tran"); }), HasSubstr("did you mean 'train'?"));
}

}  // namespace table_audit_test
}  // namespace debias
