// Tables and pages of found pairs: names are data, never markup.
#include "debias/mining/pair_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ATen/ATen.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "debias/data/sample_table.h"

namespace debias {
namespace pairs_page_test {

using testing::HasSubstr;
using testing::Not;

const NamedRows kFirst = {"train", {"a,b.jpg", "</script><img src=x onerror=alert(1)>.jpg", "c\"d.jpg"}, {0, 1, 0}, {"cat", "dog"}};
const NamedRows kSecond = {"test", {"t0.jpg"}, {kUnknown}, {"cat", "dog"}};
const std::vector<MinedPair> kPairs = {
    {.a = 0, .b = 2, .cosine = 0.5f, .false_negative = 0.25, .gradient = 0.125, .kind = PairKind::kFalseNegative},
    {.a = 0, .b = 1, .cosine = 0.75f, .false_negative = 1, .gradient = 0.5, .kind = PairKind::kDuplicate},
    {.a = 1, .b = 0, .cosine = 1, .false_negative = 1, .gradient = std::nan(""), .kind = PairKind::kLeak}};

TEST(PairRows, AreATableThatReadsBack) {
  EXPECT_EQ(pairs_csv(pair_rows(kPairs, kFirst, kSecond)),
            "a,b,similarity,false_negative,gradient,same_label,kind\n"
            "\"a,b.jpg\",\"c\"\"d.jpg\",0.500000,0.250000,0.125,1,false_negative\n"
            "\"a,b.jpg\",</script><img src=x onerror=alert(1)>.jpg,0.750000,1.000000,0.5,0,duplicate\n"
            "</script><img src=x onerror=alert(1)>.jpg,t0.jpg,1.000000,1.000000,,,leak\n");
}

TEST(PairRows, HaveNumbersForNamesWhereThereAreNone) {
  NamedRows rows = kFirst;
  rows.names.clear();
  EXPECT_EQ(pair_rows(kPairs, rows, rows).front().b, "2");
}

TEST(PairRows, CountTheShareOfOneClassByKind) {
  const auto rows = pair_rows(kPairs, kFirst, kSecond);
  EXPECT_EQ(same_label_share(rows, PairKind::kFalseNegative), 1.0);
  EXPECT_EQ(same_label_share(rows, PairKind::kDuplicate), 0.0);
  EXPECT_EQ(same_label_share(rows, PairKind::kLeak), std::nullopt);
  EXPECT_TRUE(to_json(rows.back())["gradient"].is_null());
}

std::string page(const std::vector<MinedPair>& pairs) {
  return pairs_page(pair_rows(pairs, kFirst, kSecond), "Pairs of <x>", "answers.csv", [](int64_t row, bool) -> std::optional<Image> {
    if (row == 2) return std::nullopt;
    return Image{2, 2, 3, std::vector<uint8_t>(12, static_cast<uint8_t>(row))};
  });
}

TEST(PairsPage, IsOneFileWhoseNamesAreNoMarkup) {
  const std::string html = page(kPairs);
  EXPECT_THAT(html, HasSubstr("<title>Pairs of &lt;x&gt;</title>"));
  EXPECT_THAT(html, Not(HasSubstr("<img src=x")));
  EXPECT_THAT(html, Not(HasSubstr("http")));
  EXPECT_THAT(html, Not(HasSubstr("<script src")));
  EXPECT_THAT(html, HasSubstr("width=device-width"));
}

TEST(PairsPage, HoldsEveryPairAndEachImageOnce) {
  const std::string html = page(kPairs), begin = "id=\"data\">";
  const size_t at = html.find(begin) + begin.size();
  const auto data = nlohmann::json::parse(html.substr(at, html.find("</script>", at) - at));
  ASSERT_EQ(data["pairs"].size(), 3u);
  EXPECT_EQ(data["pairs"][1]["b"], kFirst.names[1]);
  EXPECT_EQ(data["pairs"][0]["images"][0], data["pairs"][1]["images"][0]);
  EXPECT_EQ(data["images"].size(), 4u);
  EXPECT_TRUE(data["images"][1].is_null());
  EXPECT_EQ(std::string(data["images"][0]).rfind("data:image/png;base64,", 0), 0u);
  EXPECT_THAT(html, HasSubstr("a,b,answer,kind"));
}

TEST(PairsPage, SaysTheKindOfEachPair) {
  std::vector<MinedPair> pairs = {kPairs.front()};
  pairs.front().kind = PairKind::kRandom;
  EXPECT_THAT(page(pairs), HasSubstr("\"kind\":\"random\""));
}

// The second split has a class that the first one lacks, with a higher number.
TEST(SplitLeaks, OfAClassThatTheFirstSplitLacks) {
  const at::Tensor first = at::tensor({1.f, 0.f, 0.f, 1.f}).view({2, 2}), second = at::tensor({1.f, 0.f, 0.6f, 0.8f}).view({2, 2});
  const NamedRows train = {"train", {}, {0, 1}, {"cat", "dog", "eel"}}, test = {"test", {}, {0, 2}, {"cat", "dog", "eel"}};
  const SplitLeaks leaks = split_leaks({}, first, train, second, test, 0.1);
  EXPECT_EQ(leaks.accuracy, 0.5);
  EXPECT_EQ(leaks.leaked, 0);
}

TEST(SplitLeaks, CountsByClassAndTakesLeakedRowsOutOfTheAccuracy) {
  // Two classes on two axes; the second split has a leaked row that is right and one of another class's place that is wrong.
  const at::Tensor first = at::tensor({1.f, 0.f, 0.f, 1.f}).view({2, 2}), second = at::tensor({1.f, 0.f, 1.f, 0.1f}).view({2, 2});
  const NamedRows train = {"train", {}, {0, 1}, {"cat", "dog"}}, test = {"test", {}, {0, 1}, {"cat", "dog"}};
  const SplitLeaks leaks = split_leaks({{.a = 0, .b = 0, .kind = PairKind::kLeak}}, first, train, second, test, 0.1);
  EXPECT_EQ(leaks.leaked, 1);
  EXPECT_EQ(leaks.rows, 2);
  ASSERT_EQ(leaks.classes.size(), 2u);
  EXPECT_EQ(leaks.classes[0].leaked, 1);
  EXPECT_EQ(leaks.classes[1].leaked, 0);
  EXPECT_EQ(leaks.accuracy, 0.5);
  EXPECT_EQ(leaks.accuracy_without, 0.0);
  const NamedRows unknown = {"test", {}, {kUnknown, kUnknown}, {}};
  EXPECT_EQ(split_leaks({}, first, train, second, unknown, 0.1).accuracy, std::nullopt);
}

}  // namespace pairs_page_test
}  // namespace debias
