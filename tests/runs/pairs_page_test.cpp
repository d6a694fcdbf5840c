// The page of found pairs: names are data, never markup, and images are stored as they are shown.
#include "debias/runs/pairs_page.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "debias/core/error.h"
#include "debias/core/philox.h"
#include "debias/data/sample_table.h"
#include "debias/image/image_decode.h"

namespace debias {
namespace pairs_page_test {

using testing::HasSubstr;
using testing::Not;

Image noise(int64_t row, int side) {
  Random draw({.seed = static_cast<uint64_t>(row)});
  Image image{side, side, 3, std::vector<uint8_t>(static_cast<size_t>(side) * static_cast<size_t>(side) * 3)};
  for (uint8_t& value : image.pixels) value = static_cast<uint8_t>(draw.below(256));
  return image;
}

// `rows` rows of train and one of test, of images with this side; the second cannot be read.
PairSource source_of(int64_t rows, int side) {
  PairSource source;
  source.first.values = at::ones({rows, 2});
  source.first.rows = {"train", {}, std::vector<int64_t>(static_cast<size_t>(rows), 0), {"cat", "dog"}};
  for (int64_t row = 0; row < rows; ++row) source.first.rows.names.push_back("r" + std::to_string(row));
  source.first.rows.names[1] = "</script><img src=x onerror=alert(1)>.jpg";
  source.first.rows.labels[1] = 1;
  source.first.image = [side](int64_t row) {
    if (row == 1) throw data_error("unreadable");
    return noise(row, side);
  };
  source.second = PairSplit{at::ones({1, 2}), {"test", {"t0"}, {kUnknown}, {}}, [side](int64_t) { return noise(2, side); }};
  return source;
}

std::vector<MinedPair> chain(int64_t rows) {
  std::vector<MinedPair> pairs;
  for (int64_t row = 0; row + 1 < rows; ++row) pairs.push_back({.a = row, .b = row + 1, .cosine = 0.5f});
  return pairs;
}

FoundPairs found_of(const PairSource& source, const std::vector<MinedPair>& pairs) {
  FoundPairs found;
  found.rows = pair_rows(pairs, source.first.rows, source.second->rows);
  found.verdict = "3 of <4> rows are copies";
  found.notes = {"remove <b>"};
  return found;
}

nlohmann::json data_of(const std::string& html) {
  const std::string begin = "id=\"data\">";
  const size_t at = html.find(begin) + begin.size();
  return nlohmann::json::parse(html.substr(at, html.find("</script>", at) - at));
}

std::vector<uint8_t> base64_decoded(const std::string& text) {
  std::vector<uint8_t> bytes;
  uint32_t bits = 0;
  int count = 0;
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<uint32_t>(digits.find(c));
    if ((count += 6) < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<uint8_t>(bits >> count & 255));
  }
  return bytes;
}

size_t occurrences(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

int longest_side(const nlohmann::json& uri) {
  const std::string text = uri;
  const Image image = decode_image(base64_decoded(text.substr(text.find(',') + 1)), "memory");
  return std::max(image.height, image.width);
}

TEST(PairsPage, IsOneFileWhoseNamesAreNoMarkup) {
  const PairSource source = source_of(4, 20);
  const std::string html = pairs_page(found_of(source, chain(4)), source, "Pairs of <x>");
  EXPECT_THAT(html, HasSubstr("<title>Pairs of &lt;x&gt;</title>"));
  EXPECT_THAT(html, HasSubstr("<p class=\"lead\">3 of &lt;4&gt; rows are copies.</p>"));
  EXPECT_THAT(html, HasSubstr("remove &lt;b&gt;"));
  EXPECT_THAT(html, Not(HasSubstr("<img src=x")));
  EXPECT_THAT(html, Not(HasSubstr("http")));
  EXPECT_THAT(html, HasSubstr("width=device-width"));
  EXPECT_THAT(html, HasSubstr("a,b,answer,kind"));
}

TEST(PairsPage, HoldsFalseNegativesToMarkAndEachImageOnce) {
  const PairSource source = source_of(4, 20);
  std::vector<MinedPair> pairs = chain(3);
  pairs.push_back({.a = 0, .b = 3, .cosine = 1, .kind = PairKind::kDuplicate});
  const auto data = data_of(pairs_page(found_of(source, pairs), source, "x"));
  ASSERT_EQ(data["pairs"].size(), 2u);
  EXPECT_EQ(data["pairs"][0]["b"], source.first.rows.names[1]);
  EXPECT_EQ(data["pairs"][0]["images"][1], data["pairs"][1]["images"][0]);
  EXPECT_EQ(data["images"].size(), 3u);
  EXPECT_TRUE(data["images"][1].is_null());
}

TEST(PairsPage, SaysTheKindOfARandomPair) {
  const PairSource source = source_of(4, 20);
  std::vector<MinedPair> pairs = chain(2);
  pairs.front().kind = PairKind::kRandom;
  EXPECT_THAT(pairs_page(found_of(source, pairs), source, "x"), HasSubstr("\"kind\":\"random\""));
}

TEST(PairsPage, ShowsCopiesAsOneRowAndThoseOfDifferentLabelsFirst) {
  const PairSource source = source_of(200, 20);
  FoundPairs found = found_of(source, {});
  found.copies = {{{0, 1, 200}, true}, {{}, false}};
  for (int64_t row = 50; row < 150; ++row) found.copies[1].rows.push_back(row);
  const std::string html = pairs_page(found, source, "x");
  const size_t conflict = html.find("Copies with different labels</h2>"), copies = html.find("Copies</h2>", conflict + 40);
  ASSERT_NE(conflict, std::string::npos);
  ASSERT_NE(copies, std::string::npos);
  EXPECT_THAT(html.substr(conflict, copies - conflict),
              HasSubstr("<strong>3 images are one image</strong>: unknown 1, cat 1, dog 1; test 1, train 2"));
  EXPECT_THAT(html.substr(copies), HasSubstr("<strong>100 images are one image</strong>: cat 100; train 100"));
  EXPECT_THAT(html.substr(copies), HasSubstr("and 92 more"));
  EXPECT_EQ(occurrences(html, "<img src=\"data:image/"), 10u);  // of the body, which needs no script; one cannot be read
  EXPECT_THAT(html, HasSubstr("<div class=\"none\">no image</div>"));
  EXPECT_THAT(html, Not(HasSubstr("id=\"same\">")));  // no pairs to mark
}

TEST(PairsPage, NamesCopiesWithoutImages) {
  PairSource source = source_of(4, 20);
  source.first.image = nullptr;
  FoundPairs found = found_of(source, {});
  found.copies = {{{0, 2}, false}};
  const std::string html = pairs_page(found, source, "x");
  EXPECT_THAT(html, HasSubstr("<span class=\"name\">r0</span>"));
  EXPECT_THAT(html, Not(HasSubstr("<div class=\"none\">")));
}

TEST(PairsPage, EnlargesSmallImagesByWholeFactorsAndShrinksLargeOnes) {
  for (const auto& [side, shown] : {std::pair(32, 96), std::pair(900, 320), std::pair(200, 200)}) {
    const PairSource source = source_of(4, side);
    const auto data = data_of(pairs_page(found_of(source, {{.a = 0, .b = 2}}), source, "x"));
    EXPECT_EQ(longest_side(data["images"][0]), shown) << side;
  }
}

TEST(PairsPage, HasAtMostTwoMegabytes) {
  const PairSource source = source_of(1000, 130);
  const std::string html = pairs_page(found_of(source, chain(1000)), source, "x");
  EXPECT_LT(html.size(), kPageBytes);
  const auto data = data_of(html);
  EXPECT_GT(html.size(), kPageBytes * 3 / 4);
  EXPECT_EQ(longest_side(data["images"][0]), 96);
  EXPECT_LT(data["pairs"].size(), 999u);
  EXPECT_THAT(html, HasSubstr("of 999 pairs, as many as fit into this page"));
}

}  // namespace pairs_page_test
}  // namespace debias
