// Audits of feature tables: columns as candidates, directions as signs at most.
#include "debias/audit/candidate.h"
#include "debias/audit/folder_audit.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "debias/audit/bias_file.h"
#include "debias/core/npy.h"
#include "debias/core/philox.h"
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
    return audit_table({folder_ / "z.npy", folder_ / "c.csv", std::move(columns), split, "", ""}, 0);
  }

  TemporaryFolder folder_;
};

TEST_F(TableAuditTest, AColumnThatGoesWithTheClassIsAShortcutAndADirectionIsNot) {
  const AuditResult result = audited().result;
  EXPECT_EQ(result.images, 320);
  EXPECT_EQ(result.findings.front().candidate.name, "site");
  EXPECT_EQ(result.findings.front().verdict, AuditVerdict::kShortcut);
  EXPECT_NEAR(result.findings.front().accuracy, 0.9, 1e-9);
  EXPECT_EQ(std::ranges::count(result.findings, AuditVerdict::kShortcut, &AuditFinding::verdict), 1);
  const auto first = std::ranges::find(result.findings, "direction 1", [](const AuditFinding& f) { return f.candidate.name; });
  ASSERT_NE(first, result.findings.end());
  EXPECT_EQ(first->verdict, AuditVerdict::kPredictive);  // the class is what varies most
  EXPECT_THAT(not_detectable(result), testing::Contains(HasSubstr("a direction or a cluster is predictive at most")));
  EXPECT_GT(first->reference, 0.7);
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
  const FolderAudit audit = audit_table({folder_ / "z.npy", folder_ / "c.csv", {}, "", "", ""}, 0);
  const auto clusters = std::ranges::find(audit.result.findings, "clusters", [](const AuditFinding& f) { return f.candidate.name; });
  ASSERT_NE(clusters, audit.result.findings.end());
  EXPECT_EQ(clusters->verdict, AuditVerdict::kPredictive);
  EXPECT_TRUE(clusters->candidate.is(FeatureProperty::kClusters));
  EXPECT_NEAR(clusters->accuracy, 0.9, 0.01);
  EXPECT_TRUE(clusters->assignable);
  EXPECT_THAT(note_of(*clusters), HasSubstr("do not correct by them"));
  const std::string csv = bias_file(audit, "clusters");
  int64_t right = 0, right_of_test = 0;
  for (size_t i = 0; i < marks_.size(); ++i) {
    const bool found = csv.find(fmt::format("\np{},{},{},", i, i % 2 == 0 ? "ape" : "bee", marks_[i] == 0 ? "ape" : "bee")) != csv.npos;
    (i < 480 ? right : right_of_test) += found ? 1 : 0;
  }
  EXPECT_GT(right, 470);
  EXPECT_GT(right_of_test, 115);
}

TEST_F(TableAuditTest, ValuesAreGivenForTheRowsOfAllSplits) {
  const std::string csv = bias_file(audited(), "site");
  EXPECT_THAT(csv, HasSubstr("\np0,ape,ape,0."));
  EXPECT_THAT(csv, HasSubstr("\np18,ape,bee,0."));
  EXPECT_THAT(csv, testing::StartsWith("path,label,bias,confidence,split\n"));
  EXPECT_THAT(csv, HasSubstr("\np397,bee,bee,0."));
  EXPECT_THAT(csv, HasSubstr("\np399,bee,ape,0."));
  EXPECT_THAT(csv, testing::Not(HasSubstr(",,")));
}

TEST(ColumnCategories, RepeatedIntegersAreIdentifiersAndOtherNumbersAreCutIntoRuns) {
  std::vector<std::string> serials, ages, shares;
  for (int i = 0; i < 360; ++i) {
    serials.push_back(std::to_string(7000 + i % 60));
    ages.push_back(std::to_string(i % 100));
    shares.push_back(std::to_string(i % 60) + ".5");
  }
  EXPECT_EQ(column_categories(serials).count, 61);  // and one of rare values
  EXPECT_EQ(column_categories(ages).count, 17);     // less than four rows each; and one of unknown values
  EXPECT_EQ(column_categories(shares).count, 17);
  serials[0] = "NA";
  const CategoryFeatures features = column_categories(serials);
  EXPECT_EQ(features.count, 61);
  EXPECT_EQ(features.values[0], 60);  // with the rare values
}

TEST_F(TableAuditTest, RefusesUnknownColumnsAndSplits) {
  EXPECT_THAT(usage_error_of([&] { audited({"sites"}); }), HasSubstr("did you mean 'site'?"));
  EXPECT_THAT(usage_error_of([&] { audited({}, "tran"); }), HasSubstr("did you mean 'train'?"));
}

}  // namespace table_audit_test
}  // namespace debias
