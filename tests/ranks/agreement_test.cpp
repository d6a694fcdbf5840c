#include "debias/ranks/ranks.h"

#include <gmock/gmock.h>

#include "tests/ranks/threads.h"

namespace debias {
namespace agreement_test {

using testing::HasSubstr;

// What each of three ranks reports; rank 2 has `other` as its recipe.
std::vector<std::string> verdicts(const std::string& other,
                                  const std::function<std::string(const std::string&, const std::string&)>& words) {
  std::vector<std::string> texts(3);
  on_ranks(3, [&](const Ranks& ranks) {
    try {
      require_same({{"the version", "0.1", {}}, {"the recipe", ranks.rank() == 2 ? other : "a\xff", words}}, ranks);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      texts[ranks.rank()] = ranks.failed(error).what();
    }
  });
  return texts;
}

TEST(Agreement, OfAllIsSilent) {
  for (const auto& text : verdicts("a\xff", {})) EXPECT_EQ(text, "");
}

TEST(Agreement, NamesTheRankAndTheDifferenceOnEveryRank) {
  const auto words = [](const std::string& leaders, const std::string& other) { return fmt::format("{} then {}", leaders.size(), other); };
  for (const auto& text : verdicts("b", words)) EXPECT_EQ(text, "rank 2 of 3 has not the recipe of rank 0: 2 then b");
  for (const auto& text : verdicts("b", {})) EXPECT_THAT(text, HasSubstr("'b' there"));
}

TEST(Agreement, LetsDifferencesOfNoMatterPass) {
  for (const auto& text : verdicts("b", [](const auto&, const auto&) { return std::string(); })) EXPECT_EQ(text, "");
}

}  // namespace agreement_test
}  // namespace debias
