// HEX: what the textures of an image say is projected out of the logits that are trained.
//
//   G(x) [n, n]: G_kl = mean over pixels p of phi(a_p - lambda_k) phi(x_p - theta_l),  phi(v) = min(max(v, 0), 1),  a_p = x_{p - offset} - x_p
//   g = ReLU(linear(G)) [B, texture_dim], each column divided by its length over the batch;   h = E(image) [B, D]
//   F_A = W h + V g + b,   F_G = V g + b,   F_P = W h + b   [B, C];   F_L = F_A - F_G (F_G^T F_G + r I)^-1 F_G^T F_A
//
// x: grey levels 0..n-1 of the view, n = `levels`: the mean of its channels, reduced to at most `texture_side` pixels a side, stretched between
// its least and greatest value and rounded down. Pixels whose neighbour at `row`, `column` is outside are left out. lambda, theta, linear and V
// are trained; W and b are the classifier's. The step minimises the mean cross-entropy of F_L; F_P is what is evaluated, and what the metric acc1
// is of. r is 1e-6 of the mean of the diagonal. No bias labels; a batch needs more images than there are classes.
//
// Source: Wang, He, Lipton, Xing 2019 (ICLR), equations 2 to 4, and the released code of its experiments. The code stretches by the greatest
// value alone, keeps pixels without a neighbour, sums over pixels, has no r, and also divides the columns of h by their length over the
// batch, in evaluation as well: there a prediction depends on the other images of its batch.
#pragma once

#include "debias/core/options.h"
#include "debias/train/methods/method.h"

namespace debias {

struct HexOptions {
  int64_t levels = 16;
  int64_t row = 0;
  int64_t column = 1;
  int64_t texture_dim = 32;
  int64_t texture_side = 28;
  void describe(OptionVisitor& o) {
    o("levels", levels, Range::closed(2, 256), "number of grey levels of the co-occurrence matrix");
    o("row", row, Range::closed(0, 8), "rows between a pixel and its neighbour");
    o("column", column, Range::closed(0, 8), "columns between a pixel and its neighbour");
    o("texture_dim", texture_dim, Range::closed(1, 4096), "number of texture features");
    o("texture_side", texture_side, Range::closed(2, 256),
      "maximum side in pixels of the image that the texture features are computed from");
  }
};

// images [B, C, H, W] to x [B, h, w], whole numbers in float32; an image of one value has level 0.
at::Tensor grey_levels(const at::Tensor& images, int64_t levels, int64_t side);

// x [B, h, w] and thresholds lambda, theta [n] to G [B, n, n]; `row` < h and `column` < w are the offset.
at::Tensor co_occurrences(const at::Tensor& x, const at::Tensor& lambda, const at::Tensor& theta, int64_t row, int64_t column);

// F_L of F_A and F_G, computed in double: texture logits of fewer features than classes are dependent.
at::Tensor projected_out(const at::Tensor& all, const at::Tensor& texture);

MethodEntry hex_entry();

}  // namespace debias
