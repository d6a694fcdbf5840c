// Blocks, ties and threads of the exact search, and errors that leave its threads.
#include "debias/evaluate/neighbours/nearest_rows.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <stdexcept>
#include <string>

#include "debias/core/philox.h"
#include "debias/evaluate/neighbours/parallel_pieces.h"

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

}  // namespace nearest_rows_test
}  // namespace debias
