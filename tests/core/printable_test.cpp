#include "debias/core/printable.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "debias/core/error.h"

namespace debias {
namespace printable_test {

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
    EXPECT_NE(text.find("\\u009b\\u202e\xc3\xa9"), std::string::npos) << text;
  }
  EXPECT_EQ(json_without_control_characters("\xff", -1), "\"\xef\xbf\xbd\"");
}

}  // namespace printable_test
}  // namespace debias
