#include "debias/report/compared_runs.h"
#include "tests/report/reports.h"

namespace debias::evaluated_texts_test {

class EvaluatedTexts : public Reports {
 protected:
  void evaluate(const std::string& run, const std::string& kind, const std::string& options) {
    write_text(
        run + "/evaluation/sentences" + kind + ".json",
        fmt::format(R"({{"protocol": "sentences", "metrics": {{"mr_acc": 0.7}}, "counts": {{"mr": 20}}, "epoch": 4, "options": {}}})",
                    options));
  }
  // Of the runs a and b, which may stand beside each other or not.
  void compare() { require_same_texts("report", read({"a", "b"})); }
  std::string refusal() {
    return usage_error_of([&] { compare(); });
  }
};

TEST_F(EvaluatedTexts, OfATaskHaveToBeTheSameInEveryRun) {
  write_run("a");
  write_run("b");
  EXPECT_NO_THROW(compare());
  evaluate("a", "", R"({"digest": {"mr": "0123456789abcdef"}})");
  evaluate("b", "", R"({"digest": {"mr": "0123456789abcdef"}})");
  EXPECT_NO_THROW(compare());
  evaluate("b", "", R"({"digest": {"mr": "fedcba9876543210"}})");
  EXPECT_EQ(refusal(),
            "report: runs evaluated on different texts: those of 'mr' have the digest 0123456789ab in 'a' and fedcba987654 in 'b'; "
            "evaluate them with one --root, or show each by itself");
}

TEST_F(EvaluatedTexts, AreComparedAmongEvaluationsOfOneKind) {
  write_run("a");
  write_run("b");
  evaluate("a", "", R"({"digest": {"mr": "aaaa"}})");
  evaluate("b", "-cheap", R"({"digest": {"mr": "bbbb"}})");
  EXPECT_NO_THROW(compare());
  evaluate("a", "-cheap", R"({"digest": {"mr": "aaaa"}})");
  EXPECT_THAT(refusal(), HasSubstr("those of 'mr'"));
}

TEST_F(EvaluatedTexts, OfFilesThatDoNotNameThemAreTakenAsTheyAre) {
  write_run("a");
  write_run("b");
  evaluate("a", "", R"({"digest": {"mr": "aaaa"}})");
  for (const char* options : {"{}", R"({"digest": {}})", R"({"digest": {"mr": 3}})", R"({"digest": 3})", "3"}) {
    evaluate("b", "", options);
    EXPECT_NO_THROW(compare()) << options;
  }
}

}  // namespace debias::evaluated_texts_test
