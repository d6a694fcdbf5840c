// Rules that compare a candidate with what legitimate signs reach.
#include "debias/audit/excess.h"

#include <gtest/gtest.h>

namespace debias {
namespace excess_test {

AuditFinding file_finding(CandidateProperty property, double accuracy) {
  AuditFinding finding;
  finding.candidate = {"a file's", CandidateKind::kFile, std::nullopt, property};
  finding.accuracy = accuracy;
  finding.p_adjusted = 0.005;
  return finding;
}

AuditVerdict verdict(CandidateProperty property, double accuracy, double bytes_per_pixel) {
  std::vector<AuditFinding> findings = {file_finding(FileMeasure::kBytesPerPixel, bytes_per_pixel), file_finding(property, accuracy)};
  evaluate_excess({}, findings);
  return findings[1].verdict;
}

// Whether an encoder begins a second part depends on how many bytes an image needs, and so on what it shows.
TEST(Excess, SizesOfPartsAreComparedWithTheSizeOfTheFile) {
  EXPECT_EQ(verdict(FileColumnKind::kSize, 0.82, 0.8), AuditVerdict::kPredictive);
  EXPECT_EQ(verdict(FileColumnKind::kSize, 0.95, 0.8), AuditVerdict::kShortcut);
  EXPECT_EQ(verdict(FileColumnKind::kValue, 0.82, 0.8), AuditVerdict::kShortcut);
}

}  // namespace excess_test
}  // namespace debias
