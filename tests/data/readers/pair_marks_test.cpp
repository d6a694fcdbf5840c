// Files of marked pairs, and what is wrong with them, by line.
#include "debias/data/readers/pair_marks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace pair_marks_test {

using testing::HasSubstr;

class PairMarksTest : public testing::Test {
 protected:
  std::string file(const std::string& text) const {
    std::ofstream(folder_ / "m.csv") << text;
    return folder_ / "m.csv";
  }
  std::string complaint(const std::string& text) const {
    const std::string path = file(text);
    return data_error_of([&] { read_pair_marks(path); });
  }
  TemporaryFolder folder_;
};

TEST_F(PairMarksTest, ReadsAnswersWhateverElseTheFileHolds) {
  const auto pairs =
      read_pair_marks(file("kind,b,a,answer\nrandom,y.png,\"x,1.png\",same\nrandom,z,y,different\nrandom,q,r,\nrandom,s,t,skip\n"));
  ASSERT_EQ(pairs.size(), 4u);
  EXPECT_EQ(pairs[0].a, "x,1.png");
  EXPECT_EQ(pairs[0].answer, PairAnswer::kSame);
  EXPECT_EQ(pairs[0].kind, "random");
  EXPECT_EQ(pairs[1].answer, PairAnswer::kDifferent);
  EXPECT_EQ(pairs[2].answer, PairAnswer::kSkip);
  EXPECT_EQ(pairs[3].answer, PairAnswer::kSkip);
  EXPECT_EQ(pairs[3].line, 5);
}

TEST_F(PairMarksTest, HasNoAnswersWhereThereIsNoSuchColumn) {
  const auto pairs = read_pair_marks(file("a,b,similarity\nx,y,0.5\n"));
  EXPECT_EQ(pairs.front().answer, std::nullopt);
  EXPECT_EQ(pairs.front().kind, "");
}

TEST_F(PairMarksTest, RejectsBadFilesByLine) {
  EXPECT_THAT(complaint("a,c\nx,y\n"), HasSubstr("no column 'b'"));
  EXPECT_THAT(complaint("a,b,answer\nx,y,sane\n"),
              HasSubstr("line 2: answer 'sane' must be same, different or skip; did you mean 'same'?"));
  EXPECT_THAT(complaint("a,b\nx,y\n,y\n"), HasSubstr("line 3: a pair needs two names"));
  EXPECT_THAT(complaint("a,b\nx,x\n"), HasSubstr("line 2: 'x' is paired with itself"));
  EXPECT_THAT(complaint("a,b\n"), HasSubstr("no pairs"));
  EXPECT_THAT(complaint(""), HasSubstr("is empty"));
  EXPECT_THAT(complaint("a,b\nx\n"), HasSubstr("line 2"));
}

}  // namespace pair_marks_test
}  // namespace debias
