#include "debias/study/study_results.h"

#include <gtest/gtest.h>

namespace debias {
namespace study_text_test {

TEST(TheoremsText, HasBothSidesAndTheVerdict) {
  TheoremCheck check;
  check.statement = "Lemma 1";
  check.claim = "left is at most right";
  check.setting = "N = 4";
  check.left = 0.5;
  check.right = 0.75;
  check.error = 0.01;
  check.relation = "<=";
  check.verdict = Verdict::kHolds;
  EXPECT_EQ(theorems_text({check}),
            "Lemma 1: left is at most right\n    N = 4\n    0.5 <= 0.75  (+- 0.01)\n    " + std::string(enum_name(check.verdict)) + "\n");
  check.setting.clear();
  check.verdict = Verdict::kOrderOnly;
  EXPECT_EQ(theorems_text({check}), "Lemma 1: left is at most right\n    " + std::string(enum_name(check.verdict)) + "\n");
}

}  // namespace study_text_test
}  // namespace debias
