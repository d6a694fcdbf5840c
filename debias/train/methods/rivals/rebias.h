// ReBias (Bahng, Chun, Yun, Choo and Oh 2020): a classifier whose features are independent of those of a biased network, which by its design
// (a small receptive field, such as bagnet18 or simple_convnet with kernel: 1) sees the bias alone. No bias labels.
//
//   classifier f:       mean CE(z, y) + weight HSIC_u(f(x), g(x))                (outer problem)
//   biased network g:   mean CE(z^g, y) - bias_weight HSIC_u(g(x), f(x))         (inner problem)
//
// f(x), g(x): pooled outputs; HSIC_u: hsic.h. The two are updated in turn within each step, f first, then g against the f that it has
// become; each sees the other's features without gradient. The released code (clovaai/rebias) begins with g.
//
// radius: the kernels' sigma, of both. auto: the median distance of features within the batch, set anew at the first batch of each epoch, as
// in the published experiments on ImageNet, whose code takes a quarter of the training set; those on Biased-MNIST have 1. The radii belong to
// the training state.
#pragma once

#include "debias/core/options.h"
#include "debias/train/methods/method.h"

namespace debias {

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

}  // namespace debias
