#include "debias/kernels/bank_scores.h"

#include <omp.h>

#include <algorithm>
#include <vector>

#include "debias/kernels/cpu/picked_rows.h"

namespace debias::kernels {
namespace {

constexpr int64_t kBlockBytes = int64_t{1} << 20;  // half of a second-level cache

// Rows of a block are a power of two, so that a row's block is a shift away.
int block_shift(int64_t dim) {
  int shift = 0;
  while ((int64_t{2} << shift) * dim * static_cast<int64_t>(sizeof(float)) <= kBlockBytes) ++shift;
  return shift;
}

// For anchors first..last-1 the places of their picks, 0..each-1, by block of the bank and rising within a block.
class BlockOrder {
 public:
  BlockOrder(const BankRows& bank, const BankPicks& picks, int64_t first, int64_t last)
      : each_(picks.each), first_(first), shift_(block_shift(bank.dim)), blocks_(((bank.n - 1) >> shift_) + 1) {
    places_.resize(static_cast<size_t>((last - first) * each_));
    starts_.resize(static_cast<size_t>((last - first) * (blocks_ + 1)));
    for (int64_t i = first; i < last; ++i) sort_one(picks.ids + i * each_, i - first);
  }

  int64_t blocks() const { return blocks_; }

  // Rows of a block that anchor i picks.
  cpu::PickedRows picked(const BankRows& bank, const BankPicks& picks, int64_t i, int64_t block) const {
    const int32_t* starts = starts_.data() + (i - first_) * (blocks_ + 1) + block;
    return {bank.rows, bank.dim, picks.ids + i * each_, places_.data() + (i - first_) * each_ + starts[0], starts[1] - starts[0]};
  }

 private:
  void sort_one(const int32_t* ids, int64_t index) {
    int32_t* starts = starts_.data() + index * (blocks_ + 1);
    int32_t* places = places_.data() + index * each_;
    for (int64_t k = 0; k < each_; ++k) ++starts[(ids[k] >> shift_) + 1];
    for (int64_t b = 0; b < blocks_; ++b) starts[b + 1] += starts[b];
    std::vector<int32_t> next(starts, starts + blocks_);
    for (int64_t k = 0; k < each_; ++k) places[next[static_cast<size_t>(ids[k] >> shift_)]++] = static_cast<int32_t>(k);
  }

  int64_t each_, first_;
  int shift_;
  int64_t blocks_;
  std::vector<int32_t> places_, starts_;
};

// Calls visit(anchor, what it picks of a block): for each anchor in the order of blocks, on one thread.
template <class Visit>
void each_block(const BankRows& bank, const BankPicks& picks, const Visit& visit) {
  const int64_t chunks = std::min<int64_t>(picks.anchors, omp_get_max_threads());
#pragma omp parallel for schedule(static)
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    const int64_t first = chunk * picks.anchors / chunks, last = (chunk + 1) * picks.anchors / chunks;
    const BlockOrder order(bank, picks, first, last);
    for (int64_t block = 0; block < order.blocks(); ++block) {
      for (int64_t i = first; i < last; ++i) visit(i, order.picked(bank, picks, i, block));
    }
  }
}

}  // namespace

void bank_scores_forward(const BankRows& bank, const BankPicks& picks, const float* f, float scale, float* scores) {
  each_block(bank, picks, [&](int64_t i, const cpu::PickedRows& picked) {
    cpu::dot_picked_rows(picked, f + i * bank.dim, scale, scores + i * picks.each);
  });
}

void bank_scores_backward(const BankRows& bank, const BankPicks& picks, const float* grads, float scale, float* df) {
  std::fill_n(df, picks.anchors * bank.dim, 0.0f);
  each_block(bank, picks, [&](int64_t i, const cpu::PickedRows& picked) {
    if (picked.count == 0) return;
    // A block's sum by itself: thousands of small terms added one by one to a large one would lose a digit.
    static thread_local std::vector<float> part;
    part.assign(static_cast<size_t>(bank.dim), 0.0f);
    cpu::add_picked_rows(picked, grads + i * picks.each, part.data());
    float* out = df + i * bank.dim;
    for (int64_t d = 0; d < bank.dim; ++d) out[d] += scale * part[static_cast<size_t>(d)];
  });
}

}  // namespace debias::kernels
