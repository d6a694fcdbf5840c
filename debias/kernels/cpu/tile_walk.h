// The walk over one triangle of the n x n scores in square tiles (I, J), I <= J.
//
// Blocks I are taken in order; for one I the tiles J are cut into a number of chunks that does not depend on the threads, and each chunk is
// one thread's. So whatever belongs to block J has one owner at a time and sees the I in order, and what belongs to block I is gathered
// from the chunks in order: the same bytes for any number of threads. A problem of one tile is cut by rows, of which each has one owner.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

#include "debias/kernels/cpu/bf16_panels.h"
#include "debias/kernels/cpu/tile_size.h"
#include "debias/kernels/sorted_rows.h"

namespace debias::kernels::cpu {

constexpr int64_t kChunks = 16;

struct Block {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

inline int64_t block_count(int64_t n) { return (n + kTile - 1) / kTile; }
inline Block block(int64_t n, int64_t index) { return {index * kTile, std::min(n, (index + 1) * kTile)}; }

// Tiles of the triangle before row block i, with `blocks` blocks a side.
inline int64_t tile_number(int64_t blocks, int64_t i, int64_t j) { return i * blocks - i * (i - 1) / 2 + (j - i); }

// Numbers on a 64-byte boundary, as the products want them, not initialised. Small buffers wait for the next call on their thread: for a
// small batch, pages fresh from the system cost as much as the arithmetic.
template <class Number>
class Buffer {
 public:
  explicit Buffer(int64_t count)
      : bytes_((static_cast<size_t>(count) * sizeof(Number) + 63) / 64 * 64), values_(static_cast<Number*>(take(bytes_))) {}
  ~Buffer() { give_back(bytes_, values_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Number* data() const { return values_; }

 private:
  struct Shelf {
    static constexpr size_t kBuffers = 8, kLargest = size_t{1} << 20;
    std::vector<std::pair<size_t, void*>> buffers;
    ~Shelf() {
      for (const auto& buffer : buffers) std::free(buffer.second);
    }
  };
  static Shelf& shelf() {
    static thread_local Shelf shelf;
    return shelf;
  }
  static void* take(size_t bytes) {
    if (bytes == 0) return nullptr;
    auto& waiting = shelf().buffers;
    const auto found = std::find_if(waiting.begin(), waiting.end(), [&](const auto& buffer) { return buffer.first == bytes; });
    if (found != waiting.end()) {
      void* values = found->second;
      waiting.erase(found);
      return values;
    }
    void* values = std::aligned_alloc(64, bytes);
    if (values == nullptr) throw std::bad_alloc();
    return values;
  }
  static void give_back(size_t bytes, void* values) {
    auto& waiting = shelf().buffers;
    if (bytes == 0 || bytes > Shelf::kLargest) return std::free(values);
    if (waiting.size() == Shelf::kBuffers) {
      std::free(waiting.front().second);
      waiting.erase(waiting.begin());
    }
    waiting.emplace_back(bytes, values);
  }

  size_t bytes_;
  Number* values_;
};

using Floats = Buffer<float>;

// The columns of `cols` in the set of row i: up to two stretches.
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

// True if some row of one block has a pair of the set in the other; sorted rows make the groups of a block one range.
inline bool has_pairs(const SortedRows& rows, PairSet set, const Block& a, const Block& b) {
  if (set == PairSet::kEqual) return rows.first[a.begin] < b.end && rows.last[a.end - 1] > b.begin;
  if (set == PairSet::kOthers) return true;
  const int32_t group = rows.first[a.begin];
  return rows.first[a.end - 1] != group || rows.first[b.begin] != group || rows.first[b.end - 1] != group;
}

// One tile of the walk, or, of a problem of one tile, a piece of its rows.
struct Tile {
  int64_t bi, bj;  // blocks
  Block own, other;
  int64_t chunk;
  int thread;

  bool diagonal() const { return bi == bj; }
  int64_t first_row() const { return own.begin - bi * kTile; }  // inside the block
};

// The part of a tile that has pairs of the set, without columns if there is none: for equal pairs the part in groups that both blocks
// have rows of, from the strip of packed rows on in which that begins.
inline Tile trimmed(const SortedRows& rows, PairSet set, const Tile& tile) {
  if (!has_pairs(rows, set, tile.own, tile.other)) return {};
  if (set != PairSet::kEqual) return tile;
  const auto cut = [&](const Block& of, const Block& by) {
    const int64_t skipped = std::max<int64_t>(rows.first[by.begin] - of.begin, 0) / bf16::kStrip * bf16::kStrip;
    return Block{of.begin + skipped, std::min<int64_t>(of.end, rows.last[by.end - 1])};
  };
  Tile out = tile;
  out.other = cut(tile.other, tile.own);
  out.own = cut(tile.own, out.other);
  return out;
}

// Nowhere an `if` clause: a region of one thread in between makes libgomp set up its team anew, which costs milliseconds.
//
// visit(Tile) for the tiles of row block i; returns the number of chunks. See the head of the file.
template <class Visit>
int64_t walk_row(int64_t n, int64_t i, const Visit& visit) {
  constexpr int64_t kPiece = 64;
  const int64_t blocks = block_count(n), tiles = blocks - i, chunks = std::min(kChunks, tiles);
  if (blocks == 1) {  // a diagonal tile's rows have nothing in common
    const int64_t pieces = (n + kPiece - 1) / kPiece;
    const auto visit_piece = [&](int64_t piece, int thread) {
      visit(Tile{0, 0, {piece * kPiece, std::min(n, (piece + 1) * kPiece)}, {0, n}, 0, thread});
    };
    if (pieces == 1) {
      visit_piece(0, 0);
      return 1;
    }
#pragma omp parallel for schedule(dynamic)
    for (int64_t piece = 0; piece < pieces; ++piece) visit_piece(piece, omp_get_thread_num());
    return 1;
  }
#pragma omp parallel for schedule(dynamic)
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    for (int64_t j = i + tiles * chunk / chunks; j < i + tiles * (chunk + 1) / chunks; ++j) {
      visit(Tile{i, j, block(n, i), block(n, j), chunk, omp_get_thread_num()});
    }
  }
  return chunks;
}

}  // namespace debias::kernels::cpu
