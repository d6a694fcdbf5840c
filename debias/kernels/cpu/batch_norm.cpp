#include "debias/kernels/batch_norm.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "debias/kernels/cpu/norm_rows.h"

namespace debias::kernels {
namespace {

constexpr int64_t kPacked = 64;          // channels that rows are packed to: four of the widest vectors
constexpr int64_t kBlockValues = 16384;  // of a block: half of a second-level cache's share, so that its second look finds it there

// Where channels are few, neighbouring rows are taken as one: `pack` rows of C channels are one of pack C, whose sums are folded
// afterwards. What is left over at the end is a block of unpacked rows.
class Blocks {
 public:
  explicit Blocks(const MapShape& shape)
      : shape_(shape),
        pack_(shape.channels < kPacked && kPacked % shape.channels == 0 ? kPacked / shape.channels : 1),
        rows_(std::max<int64_t>(1, kBlockValues / shape.channels / pack_) * pack_),
        packed_(shape.rows / pack_ * pack_),
        whole_((packed_ + rows_ - 1) / rows_) {}

  int64_t count() const { return whole_ + (packed_ < shape_.rows ? 1 : 0); }
  int64_t pack(int64_t block) const { return block < whole_ ? pack_ : 1; }
  int64_t first_row(int64_t block) const { return block < whole_ ? block * rows_ : packed_; }
  int64_t rows(int64_t block) const { return block < whole_ ? std::min(rows_, packed_ - block * rows_) : shape_.rows - packed_; }
  MapShape shape(int64_t block) const { return {rows(block) / pack(block), shape_.channels * pack(block), shape_.bfloat16}; }

  // The block's part of a map; null of none.
  template <class Pointer>
  Pointer part(Pointer map, int64_t block) const {
    const int64_t bytes = first_row(block) * shape_.channels * (shape_.bfloat16 ? 2 : 4);
    using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<Pointer>>, const char, char>;
    return map == nullptr ? nullptr : static_cast<Byte*>(map) + bytes;
  }

  GradientMaps part(const GradientMaps& maps, int64_t block) const {
    return {part(maps.dy, block), part(maps.other, block), part(maps.y, block), part(maps.x, block)};
  }

  // Values of the channels, once for each of the packed rows.
  std::vector<float> repeated(const float* values) const {
    std::vector<float> all;
    for (int64_t p = 0; p < pack_; ++p) all.insert(all.end(), values, values + shape_.channels);
    return all;
  }

  // Calls work(block) for each block, by all threads.
  template <class Work>
  void each(const Work& work) const {
#pragma omp parallel for schedule(static) if (count() > 1)
    for (int64_t block = 0; block < count(); ++block) work(block);
  }

 private:
  MapShape shape_;
  int64_t pack_, rows_, packed_, whole_;
};

struct RepeatedFactors {
  RepeatedFactors(const Blocks& blocks, const NormFactors& factors)
      : mean(blocks.repeated(factors.mean)), scale(blocks.repeated(factors.scale)), shift(blocks.repeated(factors.shift)) {}
  NormFactors pointers() const { return {mean.data(), scale.data(), shift.data()}; }

  std::vector<float> mean, scale, shift;
};

// Of `pack` neighbours with `rows` values each, to the first of them.
void fold_moments(int64_t pack, int64_t rows, int64_t channels, float* mean, float* m2) {
  for (int64_t c = 0; c < channels; ++c) {
    float sum = 0, squares = 0;
    for (int64_t p = 0; p < pack; ++p) sum += mean[p * channels + c];
    const float whole = sum / static_cast<float>(pack);
    for (int64_t p = 0; p < pack; ++p) {
      const float apart = mean[p * channels + c] - whole;
      squares += m2[p * channels + c] + static_cast<float>(rows) * apart * apart;
    }
    mean[c] = whole;
    m2[c] = squares;
  }
}

void fold_sums(int64_t pack, int64_t channels, float* sums) {
  for (int64_t p = 1; p < pack; ++p) {
    for (int64_t c = 0; c < channels; ++c) sums[c] += sums[p * channels + c];
  }
}

// Two arrays for each block, of as many values as it has packed channels.
class Partial {
 public:
  Partial(const Blocks& blocks, int64_t channels)
      : stride_(std::max(channels, kPacked)), values_(static_cast<size_t>(2 * stride_ * blocks.count())) {}
  float* first(int64_t block) { return values_.data() + 2 * stride_ * block; }
  float* second(int64_t block) { return first(block) + stride_; }

 private:
  int64_t stride_;
  std::vector<float> values_;
};

}  // namespace

void channel_moments(const MapShape& shape, const void* x, float* mean, float* m2) {
  const Blocks blocks(shape);
  const int64_t C = shape.channels;
  Partial parts(blocks, C);
  blocks.each([&](int64_t b) {
    const MapShape own = blocks.shape(b);
    cpu::moments_of_rows(own, blocks.part(x, b), parts.first(b), parts.second(b));
    fold_moments(blocks.pack(b), own.rows, C, parts.first(b), parts.second(b));
  });
  std::vector<double> sums(static_cast<size_t>(C)), squares(static_cast<size_t>(C));
  for (int64_t b = 0; b < blocks.count(); ++b) {
    const auto rows = static_cast<double>(blocks.rows(b));
    for (int64_t c = 0; c < C; ++c) sums[c] += rows * parts.first(b)[c];
  }
  for (double& sum : sums) sum /= static_cast<double>(shape.rows);
  for (int64_t b = 0; b < blocks.count(); ++b) {
    const auto rows = static_cast<double>(blocks.rows(b));
    for (int64_t c = 0; c < C; ++c) {
      const double apart = parts.first(b)[c] - sums[c];
      squares[c] += parts.second(b)[c] + rows * apart * apart;
    }
  }
  std::copy(sums.begin(), sums.end(), mean);
  std::copy(squares.begin(), squares.end(), m2);
}

void normalise(const MapShape& shape, const void* x, const NormFactors& factors, const void* residual, bool relu, void* y) {
  const Blocks blocks(shape);
  const RepeatedFactors repeated(blocks, factors);
  blocks.each([&](int64_t b) {
    cpu::normalise_rows(blocks.shape(b), blocks.part(x, b), repeated.pointers(), blocks.part(residual, b), relu, blocks.part(y, b));
  });
}

void norm_gradient_sums(const MapShape& shape, Passed passed, const GradientMaps& maps, const NormFactors& factors, void* kept, float* sum,
                        float* dot) {
  const Blocks blocks(shape);
  const RepeatedFactors repeated(blocks, factors);
  const int64_t C = shape.channels;
  Partial parts(blocks, C);
  blocks.each([&](int64_t b) {
    cpu::gradient_sums_of_rows(blocks.shape(b), passed, blocks.part(maps, b), repeated.pointers(), blocks.part(kept, b), parts.first(b),
                               parts.second(b));
    fold_sums(blocks.pack(b), C, parts.first(b));
    fold_sums(blocks.pack(b), C, parts.second(b));
  });
  std::vector<double> sums(static_cast<size_t>(C)), dots(static_cast<size_t>(C));
  for (int64_t b = 0; b < blocks.count(); ++b) {
    for (int64_t c = 0; c < C; ++c) {
      sums[c] += parts.first(b)[c];
      dots[c] += parts.second(b)[c];
    }
  }
  std::copy(sums.begin(), sums.end(), sum);
  std::copy(dots.begin(), dots.end(), dot);
}

void norm_gradient(const MapShape& shape, Passed passed, const GradientMaps& maps, const NormFactors& factors,
                   const GradientFactors& gradient, void* dx) {
  const Blocks blocks(shape);
  const RepeatedFactors repeated(blocks, factors);
  const auto a = blocks.repeated(gradient.a), b = blocks.repeated(gradient.b), c = blocks.repeated(gradient.c);
  blocks.each([&](int64_t block) {
    cpu::gradient_of_rows(blocks.shape(block), passed, blocks.part(maps, block), repeated.pointers(), {a.data(), b.data(), c.data()},
                          blocks.part(dx, block));
  });
}

}  // namespace debias::kernels
