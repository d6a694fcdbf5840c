// Facts of a file that an audit compares, from its name and its bytes.
#include "debias/audit/file_facts.h"

#include <gtest/gtest.h>

namespace debias {
namespace file_facts_test {

std::string fact(const std::string& path, FileFact which) { return file_facts({path, {}, 4, 4}).fact(which); }

TEST(FileFacts, AMonthIsThatOfADateInTheName) {
  EXPECT_EQ(fact("IMG_20230514_101500.jpg", FileFact::kNameMonth), "2023-05");
  EXPECT_EQ(fact("IMG20230514101500.jpg", FileFact::kNameMonth), "2023-05");
  EXPECT_EQ(fact("scan-2019-12-31.png", FileFact::kNameMonth), "2019-12");
  EXPECT_EQ(fact("2019_12_31_004.png", FileFact::kNameMonth), "2019-12");
  EXPECT_EQ(fact("20231399.jpg", FileFact::kNameMonth), "");      // no thirteenth month
  EXPECT_EQ(fact("12023051.jpg", FileFact::kNameMonth), "");      // eight digits, no year
  EXPECT_EQ(fact("id202305140.jpg", FileFact::kNameMonth), "");   // nine digits are a number
  EXPECT_EQ(fact("2019-12_31.png", FileFact::kNameMonth), "");    // two separators
  EXPECT_EQ(fact("20230514/cat.jpg", FileFact::kNameMonth), "");  // of a folder: sub-folder says it
}

TEST(FileFacts, ANameHasAPrefixASuffixAndAPattern) {
  EXPECT_EQ(fact("a/DSC_0042-edit.jpg", FileFact::kNamePrefix), "DSC_");
  EXPECT_EQ(fact("a/DSC_0042-edit.jpg", FileFact::kNameSuffix), "-edit");
  EXPECT_EQ(fact("a/DSC_0042-7.jpg", FileFact::kNamePattern), "DSC_#-#");
  EXPECT_EQ(fact("a/cat.jpg", FileFact::kNameSuffix), "");
  EXPECT_EQ(fact("a/cat.jpg", FileFact::kFolder), "a");
}

}  // namespace file_facts_test
}  // namespace debias
