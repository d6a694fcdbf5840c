#include "debias/results/predictions.h"

#include <gtest/gtest.h>

#include <cmath>

#include "debias/core/error.h"

namespace debias::image_marks_test {

TEST(ImageMarks, CountPairsOfEachSide) {
  const std::string a = "AaCCcR.r", b = "AACcCr.r";
  ASSERT_TRUE(are_of_one_set(a, b));
  const PairedCounts all = paired_counts(a, b, MarkedImages::kAll);  // all but the image without a class
  EXPECT_EQ(all.images(), 7);
  EXPECT_EQ(all.both, 2);
  EXPECT_EQ(all.only_first, 2);
  EXPECT_EQ(all.only_second, 2);
  EXPECT_EQ(all.neither, 1);
  const PairedCounts conflicting = paired_counts(a, b, MarkedImages::kConflicting);
  EXPECT_EQ(conflicting.images(), 3);
  EXPECT_DOUBLE_EQ(conflicting.first(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(conflicting.second(), 2.0 / 3);
  EXPECT_EQ(conflicting.only_first, 1);
  EXPECT_EQ(paired_counts(a, b, MarkedImages::kAligned).only_second, 1);
  EXPECT_TRUE(std::isnan(paired_counts("RR", "Rr", MarkedImages::kConflicting).first()));
}

TEST(ImageMarks, OfOtherImagesAreOfAnotherSet) {
  EXPECT_TRUE(are_of_one_set("", ""));
  EXPECT_FALSE(are_of_one_set("AA", "A"));
  EXPECT_FALSE(are_of_one_set("AC", "AA"));
  EXPECT_FALSE(are_of_one_set("R.", "RR"));
}

TEST(ImageMarks, RefuseOtherLetters) {
  EXPECT_NO_THROW(require_marks("AaCcRr.", "groups.json"));
  try {
    require_marks("AaX", "groups.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_STREQ(error.what(), "reading 'groups.json': letter 3 of `marks` must be one of AaCcRr.; debias eval writes the file again");
  }
}

}  // namespace debias::image_marks_test
