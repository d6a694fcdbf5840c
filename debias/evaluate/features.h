// Features of a data set under a frozen encoder.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "debias/augment/view_pipeline.h"
#include "debias/core/progress.h"
#include "debias/data/dataset.h"
#include "debias/encoders/encoder.h"

namespace debias {

struct Features {
  at::Tensor values;            // float32 [N, D], the encoder's pooled output, not normalised
  std::vector<int64_t> labels;  // [N]
  std::vector<int64_t> biases;  // [N]
  std::vector<int64_t> indices; // [N] into the data set (its own order)
};

class ExtractOptions {
 public:
  DEBIAS_OPTION(ExtractOptions, int64_t, batch_size, 256)
  DEBIAS_OPTION(ExtractOptions, int64_t, workers, 1)
  DEBIAS_OPTION(ExtractOptions, std::string, precision, "fp32")  // fp32 | bf16
};

// Eval mode for the call; the module's mode is restored. No gradient. Order of the data set.
Features extract_features(Encoder& encoder, std::shared_ptr<const Dataset> dataset, const ViewPipeline& eval_views,
                          const ExtractOptions& options, Progress& progress);

}  // namespace debias
