// What messages are made of: printable names, suggestions, several mistakes, durations and silent sinks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "debias/core/error.h"
#include "debias/core/human_units.h"
#include "debias/core/nearest_name.h"
#include "debias/core/printable.h"
#include "debias/core/progress.h"

namespace debias {
namespace texts_test {

using testing::ElementsAre;

TEST(Printable, QuotesAndEscapes) {
  EXPECT_EQ(printable("layer1.0"), R"("layer1.0")");
  EXPECT_EQ(printable("a\nb\"c\x1b[31m"), R"("a\nb\"c\u001b[31m")");
  EXPECT_EQ(printable("\xc3\xa9\x7f"), "\"\\u00e9\\u007f\"");
}

TEST(Printable, IsOneShortAsciiLineWhateverItIsGiven) {
  for (int c = 0; c < 256; ++c) {
    const std::string shown = printable(std::string(1000, static_cast<char>(c)));
    EXPECT_LT(shown.size(), 400u);
    EXPECT_TRUE(std::all_of(shown.begin(), shown.end(), [](unsigned char each) { return each >= 32 && each < 127; })) << shown;
  }
}

TEST(FirstLine, EndsBeforeTheEndOfALine) {
  for (const char* text : {"", "\n", "\nbehind"}) EXPECT_EQ(first_line(text), "");
  for (const char* text : {"one", "one\n", "one\ntwo\n\nthree"}) EXPECT_EQ(first_line(text), "one");
}

TEST(WithoutControlCharacters, KeepsTextAndShowsWhatSteersATerminalAsBytes) {
  for (const char* kept : {"", "a b.png", "gr\xc3\xbc\xc3\x9f", "\xe6\x97\xa5", "\xf0\x9f\x90\x88", "\xc2\xa0"})
    EXPECT_EQ(without_control_characters(kept), kept);
  EXPECT_EQ(without_control_characters("a\x1b[31m\nb\x7f"), "a\\x1b[31m\\x0ab\\x7f");
  EXPECT_EQ(without_control_characters(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(without_control_characters("\xc2\x9b"
                                       "31m"),
            "\\xc2\\x9b31m");  // CSI as one character
  EXPECT_EQ(without_control_characters("a\xe2\x80\xae"
                                       "gnp.exe"),
            "a\\xe2\\x80\\xaegnp.exe");                                        // right to left from here
  EXPECT_EQ(without_control_characters("a\xe2\x80\xa8"), "a\\xe2\\x80\\xa8");  // a line separator
}

TEST(WithoutControlCharacters, ShowsBytesThatAreNoUtf8) {
  EXPECT_EQ(without_control_characters("\x9b"), "\\x9b");
  EXPECT_EQ(without_control_characters("\xc3"), "\\xc3");
  EXPECT_EQ(without_control_characters("\xc3(\xc3\xa9"), "\\xc3(\xc3\xa9");
  EXPECT_EQ(without_control_characters("\xc0\x9b"), "\\xc0\\x9b");           // too long a form
  EXPECT_EQ(without_control_characters("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // half a pair of UTF-16
  EXPECT_EQ(without_control_characters("\xff\xfe"), "\\xff\\xfe");
}

TEST(InUtf8, EscapesANameThatIsNotUtf8AndReadsItBack) {
  for (const std::string name : {"k\xe4se.png", "\xff/\xfe", "a\x9b\n.png"}) {
    EXPECT_NE(in_utf8(name), name);
    EXPECT_EQ(name_of_utf8(in_utf8(name)), name);
  }
  EXPECT_EQ(in_utf8("k\xe4se.png"), "k\\xe4se.png");
  for (const std::string name : {"k\xc3\xa4se.png", "a\nb", ""}) EXPECT_EQ(in_utf8(name), name);
  for (const std::string text : {"a\\x", "a\\xe", "a\\xeg.png", "a\\e4", "a\\x-1"}) EXPECT_EQ(name_of_utf8(text), text);
}

TEST(DebiasError, ShowsANulInItsMessage) { EXPECT_STREQ(Error(ErrorKind::kData, std::string("a\0b\0", 4)).what(), "a\\x00b\\x00"); }

TEST(WithoutControlCharacters, LinesStayLines) {
  EXPECT_EQ(lines_without_control_characters(""), "");
  EXPECT_EQ(lines_without_control_characters("a\n\n\x1b[31mb\n"), "a\n\n\\x1b[31mb\n");
  EXPECT_EQ(lines_without_control_characters("\ra"), "\\x0da");
}

TEST(WithoutControlCharacters, JsonSaysTheSame) {
  const std::string name = "a\x1b[31m\n\x7f\xc2\x9b\xe2\x80\xae\xc3\xa9";
  const nlohmann::ordered_json json = {{name, {name, 1}}};
  for (const int indent : {-1, 2}) {
    const std::string text = json_without_control_characters(json, indent);
    EXPECT_EQ(lines_without_control_characters(text), text);
    EXPECT_EQ(nlohmann::ordered_json::parse(text), json);
    EXPECT_THAT(text, testing::HasSubstr("\\u009b\\u202e\xc3\xa9"));
  }
  EXPECT_EQ(json_without_control_characters("\xff", -1), "\"\xef\xbf\xbd\"");
}

const std::vector<std::string> kNames = {"temperature", "tau_plus", "beta", "alpha"};

TEST(NearestName, FindsOneSlipOfEachKind) {
  EXPECT_EQ(nearest_name("temprature", kNames), "temperature");    // a letter left out
  EXPECT_EQ(nearest_name("temperatuure", kNames), "temperature");  // one too many
  EXPECT_EQ(nearest_name("tau-plus", kNames), "tau_plus");         // a wrong one
  EXPECT_EQ(nearest_name("aplha", kNames), "alpha");               // two swapped
}

TEST(NearestName, TakesTheNearestAndAmongEqualsTheFirst) {
  EXPECT_EQ(nearest_name("supcon", {"sincon", "supcom"}), "supcom");
  EXPECT_EQ(nearest_name("cat", {"bat", "hat"}), "bat");
  EXPECT_EQ(nearest_name("hat", {"bat", "hat"}), "hat");
}

TEST(NearestName, AllowsAThirdOfTheLongerLengthButAtLeastTwo) {
  EXPECT_EQ(nearest_name("aaaaaaxxx", {"aaaaaaaaa"}), "aaaaaaaaa");
  EXPECT_EQ(nearest_name("aaaaaxxxx", {"aaaaaaaaa"}), "");
  EXPECT_EQ(nearest_name("axx", {"aaa"}), "aaa");
  EXPECT_EQ(nearest_name("xxx", {"aaa"}), "");
}

TEST(NearestName, IsEmptyWithoutCandidatesOrAnythingNear) {
  EXPECT_EQ(nearest_name("beta", {}), "");
  EXPECT_EQ(nearest_name("momentum", kNames), "");
  EXPECT_EQ(nearest_name("", kNames), "");
}

TEST(NearestName, BoundsTheWorkOnHugeNames) { EXPECT_EQ(nearest_name(std::string(10'000'000, 'x'), kNames), ""); }

TEST(Suggestion, NamesTheNearestOrListsAll) {
  EXPECT_EQ(suggestion("bta", kNames), "; did you mean 'beta'?");
  EXPECT_EQ(suggestion("momentum", kNames), "; known: temperature, tau_plus, beta, alpha");
  std::vector<std::string> many(10, "a");
  EXPECT_EQ(suggestion("momentum", many), "; known: a, a, a, a, a, a, a, a, a, a");
  many.push_back("b");
  EXPECT_EQ(suggestion("momentum", many), "; known: a, a, a, a, a, a, a, a, a, a, ...");
}

TEST(Mistakes, OneIsReportedAsItIs) {
  Mistakes mistakes;
  EXPECT_TRUE(mistakes.collect([] {}));
  EXPECT_FALSE(mistakes.collect([] { throw usage_error("a: {}", 1); }));
  try {
    mistakes.throw_if_any();
    FAIL();
  } catch (const UsageErrors&) {
    FAIL() << "a single mistake needs no list";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "a: 1");
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
  }
}

TEST(Mistakes, SeveralAreReportedOnceEachAndThroughAnotherCollection) {
  Mistakes inner, outer;
  for (const char* text : {"a", "b", "a"}) inner.collect([&] { throw usage_error("{}", text); });
  outer.collect([] { throw usage_error("c"); });
  outer.collect([&] { inner.throw_if_any(); });
  try {
    outer.throw_if_any();
    FAIL();
  } catch (const UsageErrors& several) {
    EXPECT_THAT(several.messages(), ElementsAre("c", "a", "b"));
    EXPECT_STREQ(several.what(), "c (and 2 more)");
  }
}

TEST(Mistakes, OtherErrorsPassAndNothingIsThrownWithoutOne) {
  Mistakes mistakes;
  EXPECT_THROW(mistakes.collect([] { throw data_error("missing"); }), Error);
  EXPECT_NO_THROW(mistakes.throw_if_any());
}

TEST(ClockText, CountsSecondsMinutesAndHours) {
  EXPECT_EQ(clock_text(0), "0:00");
  EXPECT_EQ(clock_text(7.4), "0:07");
  EXPECT_EQ(clock_text(59.5), "1:00");
  EXPECT_EQ(clock_text(750), "12:30");
  EXPECT_EQ(clock_text(3723), "1:02:03");
  EXPECT_EQ(clock_text(360000), "100:00:00");
}

TEST(ClockText, OfWhatIsNoDurationIsNothing) {
  for (const double none : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) EXPECT_EQ(clock_text(none), "0:00");
  EXPECT_EQ(clock_text(1e300).substr(0, 9), "277777777");
}

TEST(RunClock, TakesTheStepsLeftToLastAsLongAsThoseSoFar) {
  const RunClock::Clock::time_point start{};
  const RunClock clock(100, start);  // resumed at step 100
  const auto after = [&](int seconds) { return start + std::chrono::seconds(seconds); };
  EXPECT_EQ(clock.left(100, 400, after(5)), std::nullopt);
  EXPECT_DOUBLE_EQ(*clock.left(110, 400, after(5)), 145);   // 290 steps of half a second
  EXPECT_DOUBLE_EQ(*clock.left(120, 400, after(30)), 420);  // an evaluation took 20 s
  EXPECT_DOUBLE_EQ(*clock.left(400, 400, after(90)), 0);
  EXPECT_DOUBLE_EQ(*clock.left(401, 400, after(90)), 0);
}

TEST(Progress, SilentSinksTakeEverythingAndSayNothing) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Progress::silent().begin("training", 10);
  Progress::silent().advance(1, "loss 5.31");
  Progress::silent().end();
  Log::silent().info("a line");
  Log::silent().warn("a line");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(&Progress::silent(), &Progress::silent());
}

}  // namespace texts_test
}  // namespace debias
