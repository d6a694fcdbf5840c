#include "debias/core/philox.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace debias {
namespace philox_test {

using Words = std::array<uint32_t, 4>;

Words first_words(const RngKey& key) {
  Random random(key);
  Words words;
  for (auto& word : words) word = random.bits();
  return words;
}

// Random123's kat_vectors, philox4x32 10.
TEST(Philox, GivesThePublishedVectors) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// How a key becomes counter and Philox key decides every batch ever drawn: changing it breaks resuming and published recipes.
TEST(Random, MapsItsKeyToPhiloxAsDocumented) {
  const RngKey key{.domain = RngDomain::kViews,
                   .seed = 0x0123456789abcdef,
                   .epoch = 0x1122334455667788,
                   .sample = 0x99aabbccddeeff00,
                   .occurrence = 3,
                   .view = 1,
                   .step = 5};
  const Words derived = philox4x32({0x55667788, 0x11223344, 2, 0x99aabbcc}, {0x89abcdef, 0x01234567});
  EXPECT_EQ(first_words(key), philox4x32({0, 0xddeeff00, 3, 1u << 16 | 5}, {derived[0], derived[1]}));
  Random random(key);
  for (int i = 0; i < 4; ++i) random.bits();
  EXPECT_EQ(random.bits(), philox4x32({1, 0xddeeff00, 3, 1u << 16 | 5}, {derived[0], derived[1]})[0]);
}

TEST(Random, EveryFieldOfTheKeyMatters) {
  const RngKey base{.domain = RngDomain::kTest, .seed = 1, .epoch = 1, .sample = 1, .occurrence = 1, .view = 1, .step = 1};
  std::vector<RngKey> keys(10, base);
  keys[1].domain = RngDomain::kInit;
  keys[2].seed = 2;
  keys[3].seed += uint64_t{1} << 32;
  keys[4].epoch = 2;
  keys[5].epoch += uint64_t{1} << 32;
  keys[6].sample = 2;
  keys[7].sample += uint64_t{1} << 32;
  keys[8].occurrence = 2;
  keys[9].view = 2;
  keys.push_back(base);
  keys.back().step = 2;
  std::set<Words> seen;
  for (const auto& key : keys) seen.insert(first_words(key));
  EXPECT_EQ(seen.size(), keys.size());
}

TEST(Random, StreamsOfNeighbouringKeysShareNoDraws) {
  std::set<uint64_t> seen;
  size_t drawn = 0;
  for (uint64_t sample = 0; sample < 50; ++sample) {
    for (uint16_t step = 0; step < 4; ++step) {
      Random random({.seed = 1, .sample = sample, .step = step});
      for (int i = 0; i < 50; ++i, ++drawn) {
        const uint64_t high = random.bits();
        seen.insert(high << 32 | random.bits());
      }
    }
  }
  EXPECT_EQ(seen.size(), drawn);  // 10^4 draws of 64 bits collide by chance with probability 3e-12
}

TEST(Random, StreamsOfNeighbouringSamplesAreUncorrelated) {
  constexpr int kPairs = 20000;
  double sum = 0;
  for (uint64_t sample = 0; sample < kPairs; ++sample) {
    sum += (Random({.sample = sample}).uniform() - 0.5) * (Random({.sample = sample + 1}).uniform() - 0.5);
  }
  EXPECT_LT(std::abs(sum / kPairs * 12), 4 / std::sqrt(kPairs));
}

TEST(Random, SameKeySameStreamAndACopyKeepsItsPosition) {
  const RngKey key{.seed = 7, .sample = 3};
  Random a(key), b(key);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(a.bits(), b.bits());
  Random copy = a;
  for (int i = 0; i < 9; ++i) EXPECT_EQ(a.bits(), copy.bits());
}

TEST(Random, UniformFillsItsIntervalEvenly) {
  Random random({.seed = 2});
  constexpr int kDraws = 100000, kBins = 20;
  std::array<int, kBins> bins{};
  for (int i = 0; i < kDraws; ++i) {
    const double value = random.uniform();
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    ++bins[static_cast<int>(value * kBins)];
  }
  double chi_square = 0;
  for (int count : bins) chi_square += std::pow(count - kDraws / kBins, 2) / (kDraws / kBins);
  EXPECT_LT(chi_square, 43.8);  // 19 degrees of freedom, p = 0.001
  EXPECT_GT(chi_square, 5.4);   // p = 0.999
}

TEST(Random, UniformBetweenBoundsExcludesTheUpperOne) {
  Random random({.seed = 3});
  for (int i = 0; i < 1000; ++i) {
    const double value = random.uniform(-3, 5);
    EXPECT_GE(value, -3);
    EXPECT_LT(value, 5);
    EXPECT_EQ(random.uniform(1, std::nextafter(1.0, 2.0)), 1);  // the sum rounds up to the bound half of the time
    EXPECT_EQ(random.uniform(2, 2), 2);
  }
}

TEST(Random, BelowIsUniformAndUnbiased) {
  Random random({.seed = 4});
  constexpr int kDraws = 70000;
  std::array<int, 7> counts{};
  for (int i = 0; i < kDraws; ++i) ++counts.at(random.below(7));
  double chi_square = 0;
  for (int count : counts) chi_square += std::pow(count - kDraws / 7, 2) / (kDraws / 7);
  EXPECT_LT(chi_square, 22.5);  // 6 degrees of freedom, p = 0.001

  // With n = 3 * 2^61, taking 64 bits modulo n, or the product without rejection, makes some results half as likely again.
  const int64_t n = int64_t{3} << 61;
  std::array<int, 3> residues{};
  int low_half = 0;
  for (int i = 0; i < 30000; ++i) {
    const int64_t value = random.below(n);
    ASSERT_GE(value, 0);
    ASSERT_LT(value, n);
    ++residues[value % 3];
    low_half += value < n / 2;
  }
  for (int count : residues) EXPECT_NEAR(count, 10000, 400);  // 5 standard deviations
  EXPECT_NEAR(low_half, 15000, 433);
}

TEST(Random, BelowOneIsZero) { EXPECT_EQ(Random({.seed = 5}).below(1), 0); }

TEST(Random, NormalHasTheMomentsOfAStandardNormal) {
  Random random({.seed = 6});
  constexpr int kDraws = 100000;
  std::array<double, 5> moments{};
  int within_one = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double value = random.normal();
    for (int k = 1; k <= 4; ++k) moments[k] += std::pow(value, k) / kDraws;
    within_one += std::abs(value) < 1;
  }
  const double unit = 4 / std::sqrt(kDraws);  // four standard errors of a mean of variance 1
  EXPECT_NEAR(moments[1], 0, unit);
  EXPECT_NEAR(moments[2], 1, std::sqrt(2) * unit);
  EXPECT_NEAR(moments[3], 0, std::sqrt(15) * unit);
  EXPECT_NEAR(moments[4], 3, std::sqrt(96) * unit);
  EXPECT_NEAR(within_one / double{kDraws}, 0.682689, 0.47 * unit);
}

TEST(Permutation, IsAPermutationForEverySmallSize) {
  for (int64_t n : {0, 1, 2, 3, 17, 1000}) {
    auto order = permutation(n, {.domain = RngDomain::kOrder, .seed = 1});
    ASSERT_EQ(static_cast<int64_t>(order.size()), n);
    std::sort(order.begin(), order.end());
    for (int64_t i = 0; i < n; ++i) EXPECT_EQ(order[i], i);
  }
}

TEST(Permutation, EveryOrderOfThreeIsEquallyLikely) {
  std::map<std::vector<int64_t>, int> counts;
  for (uint64_t epoch = 0; epoch < 6000; ++epoch) ++counts[permutation(3, {.domain = RngDomain::kOrder, .epoch = epoch})];
  ASSERT_EQ(counts.size(), 6u);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 145);  // 5 standard deviations
}

}  // namespace philox_test
}  // namespace debias
