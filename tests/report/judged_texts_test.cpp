#include "debias/report/judged_texts.h"

#include <gmock/gmock.h>

#include "tests/report/reports.h"
#include "tests/support/refusals.h"

namespace debias {
namespace judged_texts_test {

using testing::HasSubstr;

class JudgedTexts : public Reports {
 protected:
  void judge(const std::string& run, const std::string& kind, const std::string& options) {
    write_text(
        run_path(run) + "/evaluation/sentences" + kind + ".json",
        fmt::format(R"({{"protocol": "sentences", "metrics": {{"mr_acc": 0.7}}, "counts": {{"mr": 20}}, "epoch": 4, "options": {}}})",
                    options));
  }
  // Of the runs a and b, which may stand beside each other or not.
  void compare() { require_same_texts("report", read({"a", "b"})); }
  std::string refusal() {
    return usage_error_of([&] { compare(); });
  }
};

TEST_F(JudgedTexts, OfATaskHaveToBeTheSameInEveryRun) {
  write_run(run_path("a"));
  write_run(run_path("b"));
  EXPECT_NO_THROW(compare());
  judge("a", "", R"({"digest": {"mr": "0123456789abcdef"}})");
  judge("b", "", R"({"digest": {"mr": "0123456789abcdef"}})");
  EXPECT_NO_THROW(compare());
  judge("b", "", R"({"digest": {"mr": "fedcba9876543210"}})");
  EXPECT_EQ(refusal(), "report: runs evaluated on different texts: those of 'mr' have the digest 0123456789ab in '" + run_path("a") +
                           "' and fedcba987654 in '" + run_path("b") + "'; evaluate them with one --root, or show each by itself");
}

TEST_F(JudgedTexts, AreComparedAmongJudgementsOfOneKind) {
  write_run(run_path("a"));
  write_run(run_path("b"));
  judge("a", "", R"({"digest": {"mr": "aaaa"}})");
  judge("b", "-cheap", R"({"digest": {"mr": "bbbb"}})");
  EXPECT_NO_THROW(compare());
  judge("a", "-cheap", R"({"digest": {"mr": "aaaa"}})");
  EXPECT_THAT(refusal(), HasSubstr("those of 'mr'"));
}

TEST_F(JudgedTexts, OfFilesThatDoNotNameThemAreTakenAsTheyAre) {
  write_run(run_path("a"));
  write_run(run_path("b"));
  judge("a", "", R"({"digest": {"mr": "aaaa"}})");
  for (const char* options : {"{}", R"({"digest": {}})", R"({"digest": {"mr": 3}})", R"({"digest": 3})", "3"}) {
    judge("b", "", options);
    EXPECT_NO_THROW(compare()) << options;
  }
}

}  // namespace judged_texts_test
}  // namespace debias
