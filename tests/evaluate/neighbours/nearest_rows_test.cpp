// Blocks, ties and threads of the exact search, and errors that leave its threads.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>

#include "debias/core/philox.h"
#include "debias/evaluate/neighbours/nearest_rows.h"
#include "debias/evaluate/neighbours/parallel_pieces.h"
#include "debias/evaluate/neighbours/screened_rows.h"

namespace debias {
namespace nearest_rows_test {

class Threads {
 public:
  explicit Threads(int count) : before_(omp_get_max_threads()) { omp_set_num_threads(count); }
  ~Threads() { omp_set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

// Values of 1 and -1, 16 to a row: cosines are exact, and many are equal. Every fifth row is zero.
struct SignRows {
  SignRows(int64_t count, uint64_t seed) : values(static_cast<size_t>(16 * count)) {
    Random random({.domain = RngDomain::kTest, .seed = seed});
    for (float& value : values) value = random.below(2) == 0 ? -1.f : 1.f;
    rows = {values.data(), 16, std::vector<int64_t>(static_cast<size_t>(count)), std::vector<float>(static_cast<size_t>(count), 0.25f)};
    std::iota(rows.rows.begin(), rows.rows.end(), 0);
    for (int64_t i = 0; i < count; i += 5) std::fill_n(values.begin() + 16 * i, 16, 0.f);
  }
  std::vector<float> values;
  UnitRows rows;
};

using Found = std::vector<std::vector<std::pair<float, int64_t>>>;

void put(std::vector<Neighbour> nearest, std::vector<std::pair<float, int64_t>>& out) {
  std::sort(nearest.begin(), nearest.end(), nearer);
  for (const Neighbour& neighbour : nearest) out.emplace_back(neighbour.cosine, neighbour.row);
}

Found naive(const UnitRows& gallery, const UnitRows& queries, int64_t k) {
  Found found(static_cast<size_t>(queries.count()));
  for (int64_t q = 0; q < queries.count(); ++q) {
    std::vector<Neighbour> all;
    for (int64_t i = 0; i < gallery.count(); ++i) {
      all.push_back({std::inner_product(gallery.row(i), gallery.row(i) + 16, queries.row(q), 0.0f) / 16, i});
    }
    std::partial_sort(all.begin(), all.begin() + k, all.end(), nearer);
    all.resize(static_cast<size_t>(k));
    put(all, found[q]);
  }
  return found;
}

TEST(NearestRows, AreThoseOfAllCosinesWhateverTheBlocksAndThreads) {
  const SignRows gallery(700, 1), queries(45, 2);
  for (const int64_t k : {int64_t{1}, int64_t{13}, int64_t{700}}) {
    const Found expected = naive(gallery.rows, queries.rows, k);
    for (const int threads : {1, 3}) {
      for (const KnnBlock& block : {KnnBlock{}, KnnBlock{.queries = 7, .gallery = 300}, KnnBlock{.queries = 20, .gallery = 50}}) {
        const Threads limit(threads);
        Found found(expected.size());
        nearest_rows(gallery.rows, queries.rows, k, block,
                     [&](int64_t query, const std::vector<Neighbour>& nearest) { put(nearest, found[query]); });
        EXPECT_EQ(found, expected) << "k " << k << ", blocks of " << block.gallery << ", threads " << threads;
      }
    }
  }
}

TEST(NearestRows, ThrowWhatTheCallerThrows) {
  const SignRows gallery(300, 1), queries(90, 2);
  const Threads limit(3);
  for (const KnnSearch search : {KnnSearch::kExact, KnnSearch::kScreened}) {
    const auto thrower = [](int64_t query, const std::vector<Neighbour>&) {
      if (query >= 60) throw std::runtime_error("no");
    };
    EXPECT_THROW(nearest_rows(gallery.rows, queries.rows, 5, {.search = search}, thrower), std::runtime_error);
  }
}

TEST(NearestRows, OfRowsWithoutDimensionsAreTheFirst) {
  UnitRows rows{nullptr, 0, {0, 1, 2}, {1, 1, 1}};
  Found found(3);
  nearest_rows(rows, rows, 2, {}, [&](int64_t query, const std::vector<Neighbour>& nearest) { put(nearest, found[query]); });
  EXPECT_EQ(found, Found(3, {{0, 0}, {0, 1}}));
}

TEST(EachPiece, RunsAllAndThrowsTheErrorOfTheLowest) {
  const Threads limit(3);
  std::atomic<int> runs = 0;
  try {
    each_piece(50, [&](int64_t piece) {
      ++runs;
      if (piece % 7 == 6) throw std::runtime_error(std::to_string(piece));
    });
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "6");
  }
  EXPECT_EQ(runs, 50);
  each_piece(0, [&](int64_t) { ++runs; });
  EXPECT_EQ(runs, 50);
}

// Each screen that this processor has: its integers against a naive loop, at their extremes, and its neighbours against the exact search.

class EveryScreen : public testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    if (GetParam() >= supported_screens().size()) GTEST_SKIP() << "this processor has " << supported_screens().size() << " screens";
  }
  const Screen& screen() const { return *supported_screens()[GetParam()]; }
};

struct RoundedGallery {
  RoundedGallery(int64_t count, int64_t groups, int64_t padded)
      : bytes(static_cast<size_t>(groups * 16 * padded)), step(static_cast<size_t>(groups * 16), 1), sum_step(step.size(), 0) {
    rows = {count, groups, padded, bytes.data(), step.data(), sum_step.data()};
  }
  int8_t& byte(int64_t row, int64_t d) { return bytes[row / 16 * 16 * rows.padded + d / 4 * 64 + row % 16 * 4 + d % 4]; }

  std::vector<int8_t> bytes;
  std::vector<float> step, sum_step;
  RoundedRows rows;
};

// All scores of all rows: with k of all of them nothing falls below the threshold.
void expect_scores(const Screen& screen, RoundedGallery& gallery, const std::vector<uint8_t>& bytes) {
  std::vector<ScreenedQuery> queries;
  for (int64_t q = 0; q < screen.queries; ++q) queries.emplace_back(static_cast<float>(q), 0.0f, gallery.rows.count);
  screen.sweep(gallery.rows, queries, bytes.data());
  for (size_t q = 0; q < queries.size(); ++q) {
    ASSERT_EQ(queries[q].kept, gallery.rows.count);
    for (int64_t i = 0; i < queries[q].kept; ++i) {
      const int64_t row = queries[q].rows[i];
      int64_t sum = 0;
      for (int64_t d = 0; d < gallery.rows.padded; ++d) sum += bytes[q * gallery.rows.padded + d] * gallery.byte(row, d);
      const double expected = static_cast<double>(sum) * gallery.step[row] + static_cast<double>(q) * gallery.sum_step[row];
      EXPECT_NEAR(queries[q].scores[i], expected, 1e-6 * std::abs(expected) + 1e-3) << screen.name << ", row " << row;
    }
  }
}

// Whatever comes in whatever order: the k best and what lies within the margin are kept, and little else.
TEST(ScreenedQuery, KeepsTheBestAndWhatIsWithinTheMargin) {
  if (supported_screens().empty()) GTEST_SKIP() << "this processor has no AVX2";
  Random random({.domain = RngDomain::kTest, .seed = 3});
  for (const int64_t k : {1, 7, 200}) {
    for (const float margin : {0.f, 0.3f}) {
      ScreenedQuery query(0, margin, k);
      std::vector<float> all;
      for (int block = 0; block < 100; ++block) {
        for (int64_t i = 0; i < RoundedRows::kBlock; ++i) {
          const auto score = static_cast<float>(random.normal());
          query.rows[query.kept] = static_cast<int32_t>(all.size());
          query.scores[query.kept] = score;
          query.kept += score >= query.threshold;
          all.push_back(score);
        }
        query.renew_when_full();
      }
      query.renew();
      std::vector<float> sorted = all;
      std::sort(sorted.rbegin(), sorted.rend());
      const float least = sorted[k - 1] - margin;
      int64_t wanted = 0, slack = 0;
      for (const float score : all) wanted += score >= least, slack += score >= least && score < least + 1e-3;
      EXPECT_GE(query.kept, wanted) << "k " << k << ", margin " << margin;
      EXPECT_LE(query.kept, wanted + slack + 5);
      for (int64_t i = 0; i < query.kept; ++i) EXPECT_EQ(query.scores[i], all[query.rows[i]]);
    }
  }
}

TEST_P(EveryScreen, ScoresAreIntegerSumsTimesTheRowsSteps) {
  Random random({.domain = RngDomain::kTest, .seed = 1});
  for (const int64_t padded : {16, 32, 208}) {
    RoundedGallery gallery(screen().groups * 32 - 13, screen().groups * 2, padded);
    for (int8_t& byte : gallery.bytes) byte = static_cast<int8_t>(random.uniform(-screen().row_levels, screen().row_levels));
    for (float& step : gallery.step) step = static_cast<float>(random.uniform());
    for (float& step : gallery.sum_step) step = static_cast<float>(random.normal());
    std::vector<uint8_t> bytes(static_cast<size_t>(screen().queries * padded));
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.uniform(0, screen().query_levels));
    expect_scores(screen(), gallery, bytes);
  }
}

TEST_P(EveryScreen, SumsOfTheLargestBytesDoNotOverflow) {
  for (const int64_t padded : {int64_t{16}, ScreenedRows::kMaxDim}) {
    for (const float sign : {1.f, -1.f}) {
      RoundedGallery gallery(1, screen().groups, padded);
      std::fill(gallery.bytes.begin(), gallery.bytes.end(), static_cast<int8_t>(sign * screen().row_levels));
      expect_scores(screen(), gallery,
                    std::vector<uint8_t>(static_cast<size_t>(screen().queries * padded), static_cast<uint8_t>(screen().query_levels)));
    }
  }
}

// Widths and sizes on both sides of the groups of 16 rows, of 64, and of 16 dimensions; 193 queries do not fill the last groups of theirs.
TEST_P(EveryScreen, FindsTheNeighboursOfTheExactSearch) {
  Random random({.domain = RngDomain::kTest, .seed = 2});
  constexpr int64_t kQueries = 193;
  int64_t differing = 0;
  for (const int64_t dim : {4, 15, 16, 17, 48, 130}) {
    for (const int64_t count : {15, 16, 17, 63, 64, 65, 333}) {
      std::vector<float> values(static_cast<size_t>((count + kQueries) * dim));
      for (float& value : values) value = static_cast<float>(random.normal() + 1);
      const auto rows_from = [&](int64_t begin, int64_t n) {
        UnitRows rows{values.data(), dim, std::vector<int64_t>(static_cast<size_t>(n)), {}};
        std::iota(rows.rows.begin(), rows.rows.end(), begin);
        for (int64_t i = 0; i < n; ++i) {
          const float* row = rows.row(i);
          rows.scale.push_back(1 / std::sqrt(std::inner_product(row, row + dim, row, 0.0f)));
        }
        return rows;
      };
      const UnitRows gallery = rows_from(0, count), queries = rows_from(count, kQueries);
      const auto into = [](std::vector<std::set<int64_t>>& sets) {
        return [&sets](int64_t query, const std::vector<Neighbour>& nearest) {
          for (const Neighbour& neighbour : nearest) sets[query].insert(neighbour.row);
        };
      };
      for (const int64_t k : {1, 7, 15}) {
        std::vector<std::set<int64_t>> expected(kQueries), found(kQueries);
        nearest_rows(gallery, queries, k, {.search = KnnSearch::kExact}, into(expected));
        ScreenedRows(gallery, screen()).nearest(queries, 0, kQueries, k, into(found));
        for (size_t query = 0; query < found.size(); ++query) {
          EXPECT_EQ(found[query].size(), expected[query].size());
          differing += found[query] == expected[query] ? 0 : 1;
        }
      }
    }
  }
  EXPECT_LE(differing, 4) << screen().name << ", of 24,318 searches with a margin of 3 sigma";
}

INSTANTIATE_TEST_SUITE_P(Screens, EveryScreen, testing::Values(0, 1));

}  // namespace nearest_rows_test
}  // namespace debias
