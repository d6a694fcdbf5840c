#include "debias/report/markup.h"
#include "tests/report/reports.h"

namespace debias::markup_test {

TEST(Markup, TextNeverBecomesMarkup) {
  EXPECT_EQ(plain("<script>\"a\" & 'b'</script>").source, "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;&lt;/script&gt;");
  EXPECT_EQ(code("a<b").source, "<code>a&lt;b</code>");
  EXPECT_EQ(element("p", "note", plain("&")).source, "<p class=\"note\">&amp;</p>");
}

TEST(Markup, KeepsWhatIsUtf8AndReplacesWhatIsNot) {
  EXPECT_EQ(escaped("τ⁺ = 0.1 😀\n"), "τ⁺ = 0.1 😀\n");
  const std::string replaced = "\xEF\xBF\xBD";
  EXPECT_EQ(escaped("a\xFFz"), "a" + replaced + "z");
  EXPECT_EQ(escaped("\x1b[2J\x7F"), replaced + "[2J" + replaced);
  EXPECT_EQ(escaped("\xC0\xAF"), replaced + replaced);                 // overlong
  EXPECT_EQ(escaped("\xE0\x80\xAF"), replaced + replaced + replaced);  // so too
  EXPECT_EQ(escaped("\xF0\x80\x80\xAF"), replaced + replaced + replaced + replaced);
  EXPECT_EQ(escaped("\xED\xA0\x80"), replaced + replaced + replaced);  // a surrogate
  EXPECT_EQ(escaped("\xE2\x82"), replaced + replaced);                 // cut
  EXPECT_EQ(escaped(std::string_view("\0", 1)), replaced);
}

TEST(Markup, Base64OfEveryRemainder) {
  EXPECT_EQ(png_data_uri(""), "data:image/png;base64,");
  EXPECT_EQ(png_data_uri("f"), "data:image/png;base64,Zg==");
  EXPECT_EQ(png_data_uri("fo"), "data:image/png;base64,Zm8=");
  EXPECT_EQ(png_data_uri("foobar"), "data:image/png;base64,Zm9vYmFy");
  EXPECT_EQ(png_data_uri("\xFF\xFE\xFD"), "data:image/png;base64,//79");
}

}  // namespace debias::markup_test
