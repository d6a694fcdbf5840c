// Methods that make features independent of the bias: ReBias, LNL.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/linear.h>

#include <cstdint>

#include "debias/core/options.h"
#include "debias/loader/batch_source.h"
#include "debias/train/methods/method.h"
#include "debias/train/methods/model.h"
#include "debias/train/methods/optimizers.h"

namespace debias {

// A further update within a step, behind that of Method::run(): methods that train two networks against each other update one, and then the
// other on what the first has become.

// Minimises `loss` by one step of the optimizers; parameters that it does not reach stay as they are. Numeric error, in one line and before
// anything changes, where the loss or a gradient is not finite; `of` says whose loss it is ("biased network").
void second_update(const Model& model, const Optimizers& optimizers, const at::Tensor& loss, const Batch& batch, const char* of);

// The Hilbert-Schmidt independence criterion of two sets of features with Gaussian kernels: 0 where they are independent.
//
//   K_ij = exp(-|x_i - x_j|^2 / (2 sigma_x^2)), L the same of y, both with a diagonal of 0
//   HSIC_u = [ tr(K L) + 1'K1 1'L1 / ((n - 1)(n - 2)) - 2 / (n - 2) 1'K L 1 ] / (n (n - 3))
//
// x [n, D], y [n, E] floating point of one dtype, sigma > 0 in the units of their distances. Unbiased, so that independent features give
// numbers of both signs around 0; 0 for n < 4, where it is not defined. Differentiable in both. Source: Song et al. 2012 (JMLR); Bahng et
// al. 2020 (ReBias).
inline constexpr int64_t kLeastHsicRows = 4;  // for which it is defined
at::Tensor unbiased_hsic(const at::Tensor& x, const at::Tensor& y, double sigma_x, double sigma_y);

// The median distance of two different rows of [n, D]; 1 where it is 0 or there is no pair.
double median_distance(const at::Tensor& rows);

// ReBias (Bahng, Chun, Yun, Choo and Oh 2020): a classifier whose features are independent of those of a biased network, which by its design
// (a small receptive field, such as bagnet18 or simple_convnet with kernel: 1) sees the bias alone. No bias labels.
//
//   classifier f:       mean CE(z, y) + weight HSIC_u(f(x), g(x))                (outer problem)
//   biased network g:   mean CE(z^g, y) - bias_weight HSIC_u(g(x), f(x))         (inner problem)
//
// f(x), g(x): pooled outputs; HSIC_u: independence.h. The two are updated in turn within each step, f first, then g against the f that it has
// become; each sees the other's features without gradient. The released code (clovaai/rebias) begins with g.
//
// radius: the kernels' sigma, of both. auto: the median distance of features within the batch, set anew at the first batch of each epoch, as
// in the published experiments on ImageNet, whose code takes a quarter of the training set; those on Biased-MNIST have 1. The radii belong to
// the training state.
struct RebiasOptions {
  double weight = 1;
  double bias_weight = 1;
  Auto<double> radius = {};
  void describe(OptionVisitor& o) {
    o("weight", weight, Range::at_least(0), "weight of HSIC in the classifier's loss");
    o("bias_weight", bias_weight, Range::at_least(0), "weight of HSIC in the biased network's loss, which maximises it");
    o("radius", radius, Range::above(0), "sigma of the Gaussian kernels; auto: the median distance, updated every epoch");
  }
};

MethodEntry rebias_entry();

// Learning not to learn (Kim, Kim, Kim, Kim and Kim 2019): an adversary predicts the bias label from the encoder's output, and the encoder
// is trained so that it cannot.
//
//   first update, encoder and classifier:   mean_i [ CE(z_i, y_i) + entropy_weight sum_b a_ib log a_ib ],   a_i = softmax(h(f_i))
//   second update, adversary and encoder:   mean_i CE(h(r(f_i)), b_i),   r(f) = f with the gradient times -reversal
//
// z [B, C] logits; f_i the pooled output; h the adversary, D to `hidden` units with ReLU to the bias labels (hidden: 0: linear). The first
// update makes the adversary's answer uniform and leaves h as it is; in the second h learns to read the bias, and the encoder,
// through the reversed gradient (Ganin and Lempitsky 2015), to hide it. The second sees the encoder that the first has updated.
//
// As the released code (feidfoe/learning-not-to-learn), with its weights: 0.01 and 0.1. That code has the adversary as a small convolutional
// network on feature maps, one answer a pixel, and three adversaries for the three channels of a colour in eight steps. Here it reads the
// pooled output, of any encoder, and predicts the bias label.
struct LnlOptions {
  double entropy_weight = 0.01;
  double reversal = 0.1;
  int64_t hidden = 64;
  void describe(OptionVisitor& o) {
    o("entropy_weight", entropy_weight, Range::at_least(0), "weight of the negative entropy of the adversary's prediction");
    o("reversal", reversal, Range::at_least(0), "factor of the adversary's reversed gradient in the encoder");
    o("hidden", hidden, Range::closed(0, 1 << 16), "units of the adversary's hidden layer; 0: a linear adversary");
  }
};

// `rows` themselves, with the gradient times -factor.
at::Tensor with_reversed_gradient(const at::Tensor& rows, double factor);

// Features [B, D] to logits over bias labels. `fixed`: the gradient reaches the features alone.
class Adversary : public torch::nn::Module {
 public:
  Adversary(int64_t inputs, int64_t hidden, int64_t outputs, uint64_t seed);
  at::Tensor logits(const at::Tensor& features, bool fixed = false) const;

 private:
  torch::nn::Linear hidden_{nullptr}, last_{nullptr};
};

MethodEntry lnl_entry();

}  // namespace debias
