// The walk over one triangle of the n x n scores in square tiles (I, J), I <= J.
//
// Blocks I are taken in order; for one I the tiles J are cut into a number of chunks that does not depend on the threads, and each chunk is
// one thread's. So whatever belongs to block J has one owner at a time and sees the I in order, and what belongs to block I is gathered
// from the chunks in order: the same bytes for any number of threads.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

#include "debias/kernels/sorted_rows.h"

namespace debias::kernels::cpu {

constexpr int64_t kTile = 256;
constexpr int64_t kChunks = 16;

struct Block {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

inline int64_t block_count(int64_t n) { return (n + kTile - 1) / kTile; }
inline Block block(int64_t n, int64_t index) { return {index * kTile, std::min(n, (index + 1) * kTile)}; }

// Tiles of the triangle before row block i, with `blocks` blocks a side.
inline int64_t tile_number(int64_t blocks, int64_t i, int64_t j) { return i * blocks - i * (i - 1) / 2 + (j - i); }

// Floats on a 64-byte boundary, as the products want them, not initialised. Small buffers wait for the next call on their thread: for a
// small batch, pages fresh from the system cost as much as the arithmetic.
class Floats {
 public:
  explicit Floats(int64_t count) : bytes_((static_cast<size_t>(count) * sizeof(float) + 63) / 64 * 64), values_(take(bytes_)) {}
  ~Floats() { give_back(bytes_, values_); }
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;
  float* data() const { return values_; }

 private:
  struct Shelf {
    static constexpr size_t kBuffers = 8, kLargest = size_t{1} << 20;
    std::vector<std::pair<size_t, float*>> buffers;
    ~Shelf() {
      for (const auto& buffer : buffers) std::free(buffer.second);
    }
  };
  static Shelf& shelf() {
    static thread_local Shelf shelf;
    return shelf;
  }
  static float* take(size_t bytes) {
    auto& waiting = shelf().buffers;
    const auto found = std::find_if(waiting.begin(), waiting.end(), [&](const auto& buffer) { return buffer.first == bytes; });
    if (found != waiting.end()) {
      float* values = found->second;
      waiting.erase(found);
      return values;
    }
    auto* values = static_cast<float*>(std::aligned_alloc(64, bytes));
    if (values == nullptr && bytes > 0) throw std::bad_alloc();
    return values;
  }
  static void give_back(size_t bytes, float* values) {
    auto& waiting = shelf().buffers;
    if (bytes > Shelf::kLargest) return std::free(values);
    if (waiting.size() == Shelf::kBuffers) {
      std::free(waiting.front().second);
      waiting.erase(waiting.begin());
    }
    waiting.emplace_back(bytes, values);
  }

  size_t bytes_;
  float* values_;
};

// The columns of `cols` that lie in the set of row i: up to two stretches.
struct Stretch {
  int64_t begin, end;
};

inline int stretches(const SortedRows& rows, PairSet set, int64_t i, const Block& cols, Stretch out[2]) {
  const int64_t first = std::clamp<int64_t>(rows.first[i], cols.begin, cols.end),
                last = std::clamp<int64_t>(rows.last[i], cols.begin, cols.end);
  int count = 0;
  const auto put = [&](int64_t begin, int64_t end) {
    if (begin < end) out[count++] = {begin, end};
  };
  const auto put_others = [&](int64_t begin, int64_t end) {  // all but i
    put(begin, std::clamp(i, begin, end));
    put(std::clamp(i + 1, begin, end), end);
  };
  if (set == PairSet::kUnequal) {
    put(cols.begin, first);
    put(last, cols.end);
  } else if (set == PairSet::kEqual) {
    put_others(first, last);
  } else {
    put_others(cols.begin, cols.end);
  }
  return count;
}

// Whether some row of one block has a pair of the set in the other; sorted rows make the groups of a block one range.
inline bool has_pairs(const SortedRows& rows, PairSet set, const Block& a, const Block& b) {
  if (set != PairSet::kEqual) return true;
  return rows.first[a.begin] < b.end && rows.last[a.end - 1] > b.begin;
}

// visit(J, chunk, thread) for the tiles of row block i, then nothing; see the head of the file.
template <class Visit>
int64_t walk_row(int64_t blocks, int64_t i, const Visit& visit) {
  const int64_t tiles = blocks - i, chunks = std::min(kChunks, tiles);
#pragma omp parallel for schedule(dynamic)
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    for (int64_t j = i + tiles * chunk / chunks; j < i + tiles * (chunk + 1) / chunks; ++j) visit(j, chunk, omp_get_thread_num());
  }
  return chunks;
}

}  // namespace debias::kernels::cpu
