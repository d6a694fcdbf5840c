// Accuracy of a linear classifier of the bias label on frozen features (Alain & Bengio 2016): logistic regression on the training
// features (logistic_regression.h), and the chance level.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "debias/core/progress.h"
#include "debias/evaluate/features.h"
#include "debias/evaluate/protocols/logistic_regression.h"

namespace debias {

struct BiasProbe {
  LogisticFit fit;
  std::vector<int64_t> values;  // the bias labels that the training set has, ascending: the classes of the fit
  int64_t majority = 0;         // the most frequent of them; of equally frequent ones the lowest
};

struct BiasReading {
  int64_t known = 0;         // rows whose bias label is known; the rates are over these
  double accuracy = 0;       // of the probe
  double majority_rate = 0;  // of answering `majority` always
  double uniform_rate = 0;   // of answering each value of the training set equally often: 1 / their number
};

// Empty where the training features have fewer than two bias labels.
std::optional<BiasProbe> fit_bias_probe(const Features& train, int64_t iterations, Progress& progress);

BiasReading read_bias(const BiasProbe& probe, const Features& features);

}  // namespace debias
