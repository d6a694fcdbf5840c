// Bias information of objectives beyond the batch: features of a model that sees it, and its joint counts with the label.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "debias/data/sample_table.h"

namespace debias {

// A .npy file of float32 or float64 [N, F], row = sample id (the index in the source, the same under splits and held-out parts), as a
// tensor. Data errors naming the file: another dtype or shape, no row for a sample of the data set, a row that is not finite.
at::Tensor read_bias_features(const std::string& path, const SampleTable& dataset);

// P(label | bias) as double [C, G], counted from the data set: column b is the distribution of labels among the samples of bias label b,
// zero where there are none. Samples of unknown label or bias are left out. weights: of each sample, as a sampler draws it; none: all
// alike.
at::Tensor label_given_bias(const SampleTable& dataset, const std::vector<double>& weights = {});

}  // namespace debias
