// Just train twice: the samples that a network trained briefly gets wrong count more when the evaluated network is trained.
//
//   epochs 1..T       identification: a network f of the same encoder, mean of CE(f(x_i)); E = samples that f gets wrong in epoch T
//   epochs T+1..      mean of u_i CE(C(E(x_i))),   u_i = upweight / Z for i in E, 1 / Z otherwise,   Z the mean of both over all samples
//
// T = `identification_epochs`, smaller than train.epochs, which counts both stages. The evaluated network keeps its first weights during the
// first stage, and the identification network is not used after it. CE: cross-entropy by sample of classification.h. No bias labels.
//
// Source: Liu, Haghgoo, Chen, Raghunathan, Koh, Sagawa, Liang, Finn 2021 (ICML), Algorithm 1 and equation 5, and its released code. The code
// copies the samples of E `upweight` times into an epoch; u has the same expected gradient, and an epoch keeps its number of steps. As
// there, E has the predictions of epoch T's own steps, each made before the step's update. A sample that T leaves out (drop_last) is not in E.
#pragma once

#include "debias/core/options.h"
#include "debias/train/methods/method.h"

namespace debias {

struct JttOptions {
  int64_t identification_epochs = 1;
  double upweight = 50;
  void describe(OptionVisitor& o) {
    o("identification_epochs", identification_epochs, Range::at_least(1),
      "number of first epochs, within train.epochs, that train the network whose errors are upweighted");
    o("upweight", upweight, Range::at_least(1), "weight of a sample that this network misclassifies; all others have weight 1");
  }
};

// u [N] in float32 of errors [N], 1 in E and 0 elsewhere.
at::Tensor jtt_weights(const at::Tensor& errors, double upweight);

MethodEntry jtt_entry();

}  // namespace debias
