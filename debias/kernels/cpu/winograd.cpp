#include "debias/kernels/winograd.h"

#include <omp.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "debias/kernels/cpu/winograd.cpp"
#include <hwy/aligned_allocator.h>
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#ifndef DEBIAS_KERNELS_WINOGRAD_TILES
#define DEBIAS_KERNELS_WINOGRAD_TILES
namespace debias::kernels::cpu {

constexpr int64_t kOutputs = 4, kPoints = 6, kProducts = kPoints * kPoints, kTaps = 3;
constexpr int64_t kVector = 16;  // of channels: the widest that is used

// Rows of the 36 matrices of products: strides that are no power of two, which would fall on the same lines of a cache.
constexpr int64_t row_stride(int64_t channels) { return channels < 64 ? channels : channels + kVector; }
constexpr int64_t matrix_stride(int64_t rows, int64_t channels) { return rows * row_stride(channels) + kVector; }

// Maps of `channels` values for each of the pixels, which lie `pixel` values apart, cut into tiles that are counted along rows, from image to
// image.
struct Tiles {
  int64_t images, height, width, channels, pixel;
  int64_t down() const { return (height + kOutputs - 1) / kOutputs; }
  int64_t across() const { return (width + kOutputs - 1) / kOutputs; }
  int64_t count() const { return images * down() * across(); }
  int64_t at(int64_t image, int64_t y, int64_t x) const { return ((image * height + y) * width + x) * pixel; }
};

// `rows` tiles from `first` on, of which the 36 matrices have room for `room`.
struct TileBlock {
  int64_t first, rows, room;
};

struct Product {  // C [rows, columns] = A [rows, depth] B [depth, columns], added to C if `adds`; A may lie the other way round
  int64_t rows, columns, depth;
  const float* a;
  int64_t a_row, a_depth;
  const float* b;
  int64_t b_row;
  float* c;
  int64_t c_row;
  bool adds;
};

}  // namespace debias::kernels::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace debias::kernels::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, kVector>;
using V = hn::Vec<D>;

HWY_INLINE int64_t lanes() { return static_cast<int64_t>(hn::Lanes(D())); }
HWY_INLINE V load(const float* from) { return hn::LoadU(D(), from); }
HWY_INLINE V number(float value) { return hn::Set(D(), value); }
HWY_INLINE V times(float factor, V v) { return hn::Mul(number(factor), v); }
HWY_INLINE V plus(V v, float factor, V w) { return hn::MulAdd(number(factor), w, v); }  // v + factor w

constexpr float kRoot = 1.41421356237309505F, kHalfRoot = 0.70710678118654752F;  // the points; their product is 1

struct InputTransform {  // B', 6 from 6
  static constexpr int64_t kFrom = kPoints, kTo = kPoints, kBefore = 1;
  HWY_INLINE static void run(const V (&x)[6], V (&out)[6]) {
    out[0] = hn::Add(plus(x[0], -2.5F, x[2]), x[4]);
    const V even = plus(x[4], -0.5F, x[2]), odd = plus(x[3], -0.5F, x[1]);
    out[1] = plus(even, kRoot, odd);
    out[2] = plus(even, -kRoot, odd);
    const V even2 = plus(x[4], -2, x[2]), odd2 = plus(x[3], -2, x[1]);
    out[3] = plus(even2, kHalfRoot, odd2);
    out[4] = plus(even2, -kHalfRoot, odd2);
    out[5] = hn::Add(plus(x[1], -2.5F, x[3]), x[5]);
  }
};

struct OutputTransform {  // A', 4 from 6
  static constexpr int64_t kFrom = kPoints, kTo = kOutputs;
  HWY_INLINE static void run(const V (&m)[6], V (&y)[4]) {
    const V sum = hn::Add(m[1], m[2]), sum2 = hn::Add(m[3], m[4]), apart = hn::Sub(m[1], m[2]), apart2 = hn::Sub(m[3], m[4]);
    y[0] = hn::Add(m[0], hn::Add(sum, sum2));
    y[1] = plus(times(kHalfRoot, apart2), kRoot, apart);
    y[2] = plus(times(0.5F, sum2), 2, sum);
    y[3] = plus(plus(m[5], 0.5F * kHalfRoot, apart2), 2 * kRoot, apart);
  }
};

struct GradientTransform {  // A, 6 from 4
  static constexpr int64_t kFrom = kOutputs, kTo = kPoints, kBefore = 0;
  HWY_INLINE static void run(const V (&y)[4], V (&m)[6]) {
    m[0] = y[0];
    const V even = plus(y[0], 2, y[2]), odd = times(kRoot, plus(y[1], 2, y[3]));
    m[1] = hn::Add(even, odd);
    m[2] = hn::Sub(even, odd);
    const V even2 = plus(y[0], 0.5F, y[2]), odd2 = times(kHalfRoot, plus(y[1], 0.5F, y[3]));
    m[3] = hn::Add(even2, odd2);
    m[4] = hn::Sub(even2, odd2);
    m[5] = y[3];
  }
};

struct FilterTransform {  // G, 6 from 3
  static constexpr int64_t kFrom = kTaps, kTo = kPoints;
  HWY_INLINE static void run(const V (&g)[3], V (&u)[6]) {
    u[0] = g[0];
    const V even = times(1 / 6.0F, plus(g[0], 2, g[2])), odd = times(kRoot / 6, g[1]);
    u[1] = hn::Add(even, odd);
    u[2] = hn::Sub(even, odd);
    const V even2 = times(-1 / 1.5F, plus(g[0], 0.5F, g[2])), odd2 = times(-kHalfRoot / 1.5F, g[1]);
    u[3] = hn::Add(even2, odd2);
    u[4] = hn::Sub(even2, odd2);
    u[5] = g[2];
  }
};

struct FilterGradientTransform {  // G', 3 from 6
  static constexpr int64_t kFrom = kPoints, kTo = kTaps;
  HWY_INLINE static void run(const V (&u)[6], V (&g)[3]) {
    const V sum = times(1 / 6.0F, hn::Add(u[1], u[2])), sum2 = times(-1 / 1.5F, hn::Add(u[3], u[4]));
    g[0] = hn::Add(u[0], hn::Add(sum, sum2));
    g[1] = plus(times(-kHalfRoot / 1.5F, hn::Sub(u[3], u[4])), kRoot / 6, hn::Sub(u[1], u[2]));
    g[2] = plus(plus(u[5], 2, sum), 0.5F, sum2);
  }
};

// Along columns, then along rows: `read` gives the value at a row and a column, `write` takes that of the result.
template <class Transform, class Read, class Write>
HWY_INLINE void transform(const Read& read, const Write& write) {
  V half[Transform::kTo][Transform::kFrom];
  for (int64_t j = 0; j < Transform::kFrom; ++j) {
    V from[Transform::kFrom], to[Transform::kTo];
    for (int64_t i = 0; i < Transform::kFrom; ++i) from[i] = read(i, j);
    Transform::run(from, to);
    for (int64_t i = 0; i < Transform::kTo; ++i) half[i][j] = to[i];
  }
  for (int64_t i = 0; i < Transform::kTo; ++i) {
    V to[Transform::kTo];
    Transform::run(half[i], to);
    for (int64_t j = 0; j < Transform::kTo; ++j) write(i, j, to[j]);
  }
}

// Calls work(image, row, column, t) for the first pixel of each tile's outputs.
template <class Work>
HWY_INLINE void each_tile(const Tiles& tiles, const TileBlock& block, const Work& work) {
  const int64_t across = tiles.across(), down = tiles.down();
  int64_t image = block.first / (down * across), row = block.first / across % down, column = block.first % across;
  for (int64_t t = 0; t < block.rows; ++t) {
    work(image, row * kOutputs, column * kOutputs, t);
    if (++column < across) continue;
    column = 0;
    if (++row < down) continue;
    row = 0;
    ++image;
  }
}

// The 36 matrices [tiles, channels] of a map: of its inputs, which overlap by a frame of one pixel, or of its outputs' gradients.
template <class Transform>
void products_of(const Tiles& tiles, const TileBlock& block, const float* map, float* products) {
  constexpr int64_t kSide = Transform::kFrom;
  const int64_t C = tiles.channels, stride = matrix_stride(block.room, C);
  const std::vector<float> outside(static_cast<size_t>(C), 0.0F);
  each_tile(tiles, block, [&](int64_t image, int64_t row, int64_t column, int64_t t) {
    const int64_t top = row - Transform::kBefore, left = column - Transform::kBefore;
    float* to = products + t * row_stride(C);
    const auto write_at = [&](int64_t c) {
      return [to, stride, c](int64_t i, int64_t j, V v) { hn::StoreU(v, D(), to + (i * kPoints + j) * stride + c); };
    };
    if (top >= 0 && left >= 0 && top + kSide <= tiles.height && left + kSide <= tiles.width) {
      const float* from = map + tiles.at(image, top, left);
      const int64_t line = tiles.width * tiles.pixel;
      for (int64_t c = 0; c < C; c += lanes()) {
        transform<Transform>([&](int64_t i, int64_t j) { return load(from + i * line + j * tiles.pixel + c); }, write_at(c));
      }
      return;
    }
    const float* pixels[kSide][kSide];
    for (int64_t i = 0; i < kSide; ++i) {
      for (int64_t j = 0; j < kSide; ++j) {
        const int64_t y = top + i, x = left + j;
        const bool inside = y >= 0 && y < tiles.height && x >= 0 && x < tiles.width;
        pixels[i][j] = inside ? map + tiles.at(image, y, x) : outside.data();
      }
    }
    for (int64_t c = 0; c < C; c += lanes()) {
      transform<Transform>([&](int64_t i, int64_t j) { return load(pixels[i][j] + c); }, write_at(c));
    }
  });
}

void input_products(const Tiles& tiles, const TileBlock& block, const float* map, float* products) {
  products_of<InputTransform>(tiles, block, map, products);
}

void gradient_products(const Tiles& tiles, const TileBlock& block, const float* map, float* products) {
  products_of<GradientTransform>(tiles, block, map, products);
}

void map_of_products(const Tiles& tiles, const TileBlock& block, const float* products, const AfterConvolution& after, float* map) {
  const int64_t K = tiles.channels, stride = matrix_stride(block.room, K);
  each_tile(tiles, block, [&](int64_t image, int64_t row, int64_t column, int64_t t) {
    const float* from = products + t * row_stride(K);
    const int64_t first = tiles.at(image, row, column), line = tiles.width * tiles.pixel;
    const int64_t rows = std::min(kOutputs, tiles.height - row), columns = std::min(kOutputs, tiles.width - column);
    for (int64_t k = 0; k < K; k += lanes()) {
      const V bias = after.bias != nullptr ? load(after.bias + k) : hn::Zero(D());
      transform<OutputTransform>([&](int64_t i, int64_t j) { return load(from + (i * kPoints + j) * stride + k); },
                                 [&](int64_t i, int64_t j, V v) {
                                   if (i >= rows || j >= columns) return;
                                   const int64_t at = first + i * line + j * tiles.pixel + k;
                                   v = hn::Add(v, bias);
                                   if (after.residual != nullptr) v = hn::Add(v, load(after.residual + at));
                                   if (after.relu) v = hn::IfThenZeroElse(hn::Lt(v, hn::Zero(D())), v);
                                   hn::StoreU(v, D(), map + at);
                                 });
    }
  });
}

// Of the filters of one input channel, [3, 3, in, out] and 36 matrices [in, out].
void filter_products(int64_t channel, int64_t in, int64_t out, const float* weight, float* products) {
  for (int64_t k = 0; k < out; k += lanes()) {
    transform<FilterTransform>([&](int64_t i, int64_t j) { return load(weight + ((i * kTaps + j) * in + channel) * out + k); },
                               [&](int64_t i, int64_t j, V v) {
                                 hn::StoreU(v, D(), products + (i * kPoints + j) * matrix_stride(in, out) + channel * row_stride(out) + k);
                               });
  }
}

void filters_of_products(int64_t channel, int64_t in, int64_t out, const float* products, float* weight) {
  for (int64_t k = 0; k < out; k += lanes()) {
    transform<FilterGradientTransform>(
        [&](int64_t i, int64_t j) { return load(products + (i * kPoints + j) * matrix_stride(in, out) + channel * row_stride(out) + k); },
        [&](int64_t i, int64_t j, V v) { hn::StoreU(v, D(), weight + ((i * kTaps + j) * in + channel) * out + k); });
  }
}

template <int R, int N>
HWY_INLINE void panel_product(const Product& p, int64_t row, int64_t column) {
  V sums[R][N];
  const float *a = p.a + row * p.a_row, *b = p.b + column;
  float* c = p.c + row * p.c_row + column;
  for (int r = 0; r < R; ++r) {
    for (int n = 0; n < N; ++n) sums[r][n] = p.adds ? load(c + r * p.c_row + n * lanes()) : hn::Zero(D());
  }
  for (int64_t d = 0; d < p.depth; ++d, a += p.a_depth, b += p.b_row) {
    V of_b[N];
    for (int n = 0; n < N; ++n) of_b[n] = load(b + n * lanes());
    for (int r = 0; r < R; ++r) {
      const V of_a = number(a[r * p.a_row]);
      for (int n = 0; n < N; ++n) sums[r][n] = hn::MulAdd(of_a, of_b[n], sums[r][n]);
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int n = 0; n < N; ++n) hn::StoreU(sums[r][n], D(), c + r * p.c_row + n * lanes());
  }
}

template <int R, int N>
void panels(const Product& p, int64_t begin, int64_t end) {
  for (int64_t column = begin; column < end; column += N * lanes()) {
    int64_t row = 0;
    for (; row + R <= p.rows; row += R) panel_product<R, N>(p, row, column);
    for (; row + 4 <= p.rows; row += 4) panel_product<4, N>(p, row, column);
    for (; row < p.rows; ++row) panel_product<1, N>(p, row, column);
  }
}

void matrix_product(const Product& product) {
  constexpr int kRows = HWY_TARGET <= HWY_AVX3 ? 12 : 6;  // with two vectors of columns, what the registers hold
  const int64_t pairs = product.columns / (2 * lanes()) * 2 * lanes();
  panels<kRows, 2>(product, 0, pairs);
  panels<kRows, 1>(product, pairs, product.columns);
}

}  // namespace
}  // namespace debias::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace debias::kernels {
namespace cpu {

HWY_EXPORT(input_products);
HWY_EXPORT(gradient_products);
HWY_EXPORT(map_of_products);
HWY_EXPORT(filter_products);
HWY_EXPORT(filters_of_products);
HWY_EXPORT(matrix_product);

namespace {

constexpr int64_t kBlockValues = 131072;   // of all 36 matrices of a block's tiles: half of a second-level cache
constexpr int64_t kLargeFilters = 262144;  // values of 36 matrices of filters beyond that cache: more tiles share them
constexpr int64_t kParts = 16;             // of the tiles, whose gradients are summed apart
constexpr int64_t kPartValues = 33554432;  // of the sums of all parts
constexpr int64_t kRows = 12, kColumns = 64;

using Room = hwy::AlignedFreeUniquePtr<float[]>;

Room room_for(int64_t rows, int64_t channels) {
  return hwy::AllocateAligned<float>(static_cast<size_t>(kProducts * matrix_stride(rows, channels)));
}

Tiles inputs(const ConvolutionShape& shape) { return {shape.images, shape.height, shape.width, shape.in, shape.in}; }
Tiles outputs(const ConvolutionShape& shape) { return {shape.images, shape.height, shape.width, shape.out, shape.out}; }

// Tiles from `begin` to `end`, `room` at a time.
struct Blocks {
  Blocks(const ConvolutionShape& shape, int64_t from, int64_t to, int64_t workers) : begin(from), end(to) {
    const int64_t fits = kBlockValues / (kProducts * (shape.in + shape.out));
    const int64_t least = kProducts * shape.in * shape.out > kLargeFilters ? 8 * kRows : 2 * kRows;
    const int64_t share = ((to - from + workers - 1) / workers + kRows - 1) / kRows * kRows;
    room = std::min(std::max(fits / kRows * kRows, least), share);
  }
  int64_t count() const { return (end - begin + room - 1) / room; }
  TileBlock operator[](int64_t i) const { return {begin + i * room, std::min(room, end - begin - i * room), room}; }

  int64_t begin, end, room;
};

}  // namespace
}  // namespace cpu

bool winograd_pays(const ConvolutionShape& shape) {
  using namespace cpu;
  if (shape.in < kVector || shape.out < kVector || shape.in % kVector != 0 || shape.out % kVector != 0) return false;
  const auto direct = static_cast<double>(9 * shape.images * shape.height * shape.width * shape.in * shape.out);
  const auto tiles = static_cast<double>(inputs(shape).count()), filters = static_cast<double>(kProducts * shape.in * shape.out);
  const double transforms = 250 * tiles * static_cast<double>(shape.in + shape.out), of_filters = 128 * filters;
  return direct > 1.1 * (filters * tiles + transforms + of_filters);
}

void winograd_convolution(const ConvolutionShape& shape, const float* x, const float* weight, float* y, const AfterConvolution& after) {
  using namespace cpu;
  const int64_t C = shape.in, K = shape.out;
  const Blocks blocks(shape, 0, inputs(shape).count(), omp_get_max_threads());
  const Room filters = room_for(C, K);
#pragma omp parallel
  {
#pragma omp for schedule(static)
    for (int64_t c = 0; c < C; ++c) HWY_DYNAMIC_DISPATCH(filter_products)(c, C, K, weight, filters.get());
    const Room of_x = room_for(blocks.room, C), of_y = room_for(blocks.room, K);
#pragma omp for schedule(dynamic)
    for (int64_t b = 0; b < blocks.count(); ++b) {
      HWY_DYNAMIC_DISPATCH(input_products)(inputs(shape), blocks[b], x, of_x.get());
      for (int64_t i = 0; i < kProducts; ++i) {
        const Product product = {.rows = blocks[b].rows,
                                 .columns = K,
                                 .depth = C,
                                 .a = of_x.get() + i * matrix_stride(blocks.room, C),
                                 .a_row = row_stride(C),
                                 .a_depth = 1,
                                 .b = filters.get() + i * matrix_stride(C, K),
                                 .b_row = row_stride(K),
                                 .c = of_y.get() + i * matrix_stride(blocks.room, K),
                                 .c_row = row_stride(K),
                                 .adds = false};
        HWY_DYNAMIC_DISPATCH(matrix_product)(product);
      }
      HWY_DYNAMIC_DISPATCH(map_of_products)(outputs(shape), blocks[b], of_y.get(), after, y);
    }
  }
}

void winograd_weight_gradient(const ConvolutionShape& shape, const float* x, const float* dy, float* dw) {
  using namespace cpu;
  const int64_t C = shape.in, K = shape.out, values = kProducts * matrix_stride(C, K);
  const int64_t tiles = inputs(shape).count(), least = values > kLargeFilters ? 8 * kRows : 2 * kRows;
  const int64_t most = std::min(kParts, std::max<int64_t>(1, tiles / least));
  const int64_t parts = std::clamp<int64_t>(kPartValues / values, 1, most);
  // Where there are more threads than parts, several share a part's columns, which does not change a sum.
  const int64_t shares = std::clamp<int64_t>((omp_get_max_threads() + parts - 1) / parts, 1, std::max<int64_t>(1, K / kColumns));
  const int64_t columns = (K / kVector + shares - 1) / shares * kVector;
  const auto sums = hwy::AllocateAligned<float>(static_cast<size_t>(parts * values));
#pragma omp parallel
  {
    const int64_t room = Blocks(shape, 0, (tiles + parts - 1) / parts, 1).room;
    const Room of_x = room_for(room, C), of_dy = room_for(room, columns);
#pragma omp for schedule(dynamic)
    for (int64_t job = 0; job < parts * shares; ++job) {
      const int64_t part = job / shares, column = job % shares * columns;
      const Blocks blocks(shape, part * tiles / parts, (part + 1) * tiles / parts, 1);
      Tiles gradients = outputs(shape);
      gradients.channels = std::min(columns, K - column);
      for (int64_t b = 0; gradients.channels > 0 && b < blocks.count(); ++b) {
        HWY_DYNAMIC_DISPATCH(input_products)(inputs(shape), blocks[b], x, of_x.get());
        HWY_DYNAMIC_DISPATCH(gradient_products)(gradients, blocks[b], dy + column, of_dy.get());
        for (int64_t i = 0; i < kProducts; ++i) {
          const Product product = {.rows = C,
                                   .columns = gradients.channels,
                                   .depth = blocks[b].rows,
                                   .a = of_x.get() + i * matrix_stride(blocks.room, C),
                                   .a_row = 1,
                                   .a_depth = row_stride(C),
                                   .b = of_dy.get() + i * matrix_stride(blocks.room, gradients.channels),
                                   .b_row = row_stride(gradients.channels),
                                   .c = sums.get() + part * values + i * matrix_stride(C, K) + column,
                                   .c_row = row_stride(K),
                                   .adds = b > 0};
          HWY_DYNAMIC_DISPATCH(matrix_product)(product);
        }
      }
    }
#pragma omp for schedule(static)
    for (int64_t c = 0; c < C; ++c) {
      for (int64_t i = 0; i < kProducts; ++i) {
        float* to = sums.get() + i * matrix_stride(C, K) + c * row_stride(K);
        for (int64_t part = 1; part < parts; ++part) {
          for (int64_t k = 0; k < K; ++k) to[k] += to[part * values + k];
        }
      }
      HWY_DYNAMIC_DISPATCH(filters_of_products)(c, C, K, sums.get(), dw);
    }
  }
}

}  // namespace debias::kernels
#endif
