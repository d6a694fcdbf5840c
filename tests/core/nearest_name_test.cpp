#include "debias/core/nearest_name.h"

#include <gtest/gtest.h>

namespace debias {
namespace nearest_name_test {

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

}  // namespace nearest_name_test
}  // namespace debias
