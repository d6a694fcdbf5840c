#include "debias/kernels/cpu/tile_products.h"

#include "debias/kernels/cpu/bf16_products.h"
#include "debias/kernels/cpu/gemm.h"

namespace debias::kernels::cpu {
namespace {

bf16::PulledRows block_of(const Buffer<uint32_t>& panel, const SortedRows& rows, const Block& block) {
  return {panel.data() + block.begin / 2 * bf16::kStrip, bf16::PullPanel::strip_words(rows.n)};
}

}  // namespace

bool in_bfloat16(const SortedRows& rows) { return rows.bfloat16_products && bf16::available(); }

TileScores::TileScores(const SortedRows& rows) : rows_(rows), panel_(in_bfloat16(rows) ? bf16::ScorePanel::words(rows.n, rows.dim) : 0) {
  if (in_bfloat16(rows)) bf16::ScorePanel::pack(rows.z, rows.n, rows.dim, panel_.data());
}

void TileScores::operator()(const Block& a, const Block& b, float* out) const {
  if (!in_bfloat16(rows_)) {
    const float* z = rows_.z;
    return product_nt(a.size(), b.size(), rows_.dim, rows_.scale, z + a.begin * rows_.dim, z + b.begin * rows_.dim, out, kTile);
  }
  const auto packed = [&](const Block& block) { return panel_.data() + block.begin * bf16::ScorePanel::pairs(rows_.dim); };
  bf16::scores(a.size(), b.size(), rows_.dim, rows_.scale, packed(a), packed(b), out, kTile);
}

TilePulls::TilePulls(const SortedRows& rows)
    : rows_(rows), packed_(in_bfloat16(rows)), panel_(packed_ ? bf16::PullPanel::words(rows.n, rows.dim) : 0) {
  if (packed_) bf16::PullPanel::pack(rows.z, rows.n, rows.dim, panel_.data());
}

void TilePulls::own(const Block& own, const Block& other, const TileWeights& weights, bool add, float* out) const {
  if (packed_) return bf16::pull_rows(own.size(), other.size(), rows_.dim, weights.packed, block_of(panel_, rows_, other), add, out);
  product_nn(own.size(), other.size(), rows_.dim, weights.w, kTile, rows_.z + other.begin * rows_.dim, add, out);
}

void TilePulls::other(const Block& own, const Block& other, const TileWeights& weights, float* out) const {
  if (packed_) return bf16::pull_columns(own.size(), other.size(), rows_.dim, weights.packed, block_of(panel_, rows_, own), out);
  add_product_tn(own.size(), other.size(), rows_.dim, weights.w, kTile, rows_.z + own.begin * rows_.dim, out);
}

}  // namespace debias::kernels::cpu
