#include "debias/report/pages/page.h"

#include "debias/report/markup.h"
#include "tests/report/reports.h"

namespace debias {
namespace page_test {

Page sample_page() {
  Page page("Runs <a> & \"b\"");
  page.heading(2, "First & foremost");
  page.paragraph(plain("a < b") + code("x > y"), "note");
  Table table;
  table.caption = "caption <here>";
  table.head = {{plain("metric"), "", ""}, {plain("run"), "n", ""}};
  table.rows = {{{{plain("test"), "", ""}}, true}, {{{plain("accuracy"), "", ""}, {plain("87 %"), "n", "--v:0.87"}}, false}};
  page.table(table);
  page.heading(3, "Smaller");
  Chart chart;
  chart.title = "Loss";
  chart.series = {{.name = "a", .x = {1, 2}, .y = {1, 2}, .low = {}, .high = {}}};
  page.figures({{chart, plain("caption")}, {chart, Html{}}});
  page.heading(2, "Second");
  page.folded("More", plain("hidden"));
  page.preformatted("debias train <recipe>");
  return page;
}

TEST(Page, EveryTagIsClosed) {
  const std::string html = sample_page().html();
  EXPECT_EQ(well_formed(html).fault, "");
  EXPECT_TRUE(html.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"));
}

TEST(Page, NothingInItIsLoadedFromElsewhere) {
  const std::string html = sample_page().html();
  const WellFormed page = well_formed(html);
  for (const auto& reference : attributes(page, "href")) EXPECT_TRUE(reference.starts_with("#") || reference == "data:,") << reference;
  EXPECT_EQ(attributes(page, "src").size(), 0u);
  EXPECT_EQ(page.count("script"), 0u);
  for (const char* way : {"http:", "https:", "url(", "@import", "//cdn"}) EXPECT_THAT(html, Not(HasSubstr(way)));
}

TEST(Page, SectionsAreLinkedFromTheTopAndIdsAreUnique) {
  const WellFormed page = well_formed(sample_page().html());
  std::vector<std::string> links;
  for (const auto& reference : attributes(page, "href")) {
    if (reference.starts_with("#")) links.push_back(reference.substr(1));
  }
  EXPECT_THAT(links, ElementsAre("section-1", "section-2"));
  const auto ids = attributes(page, "id");
  const std::set<std::string> unique(ids.begin(), ids.end());
  EXPECT_EQ(unique.size(), ids.size());
  for (const auto& link : links) EXPECT_TRUE(unique.contains(link));
  for (const auto& label : attributes(page, "aria-labelledby")) EXPECT_TRUE(unique.contains(label.substr(0, label.find(' ')))) << label;
}

TEST(Page, HeadingsGoDownOneLevelAtATime) {
  int last = 0;
  for (const auto& element : well_formed(sample_page().html()).elements) {
    if (element.tag.size() != 2 || element.tag[0] != 'h' || element.tag == "hr") continue;
    const int level = element.tag[1] - '0';
    EXPECT_LE(level, last + 1);
    last = level;
  }
}

TEST(Page, TablesHeadTheirRowsAndColumnsAndScrollInsideThemselves) {
  const std::string html = sample_page().html();
  expect_parts(html, {"<p class=\"caption\">caption &lt;here&gt;</p><div class=\"scroll\" tabindex=\"0\" role=\"group\" "
                      "aria-label=\"caption &lt;here&gt;\"><table>",
                      "<th class=\"n\" scope=\"col\">run</th>", "<th scope=\"colgroup\" colspan=\"2\">test</th>",
                      "<th scope=\"row\">accuracy</th><td class=\"n\" style=\"--v:0.87\">87 %</td>"});
}

TEST(Page, TheSameContentGivesTheSameBytes) { EXPECT_EQ(sample_page().html(), sample_page().html()); }

}  // namespace page_test

namespace markup_test {

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

}  // namespace markup_test
}  // namespace debias
