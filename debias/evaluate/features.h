// Features of a data set under a frozen encoder.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "debias/augment/view_pipeline.h"
#include "debias/core/progress.h"
#include "debias/data/dataset.h"
#include "debias/data/decode.h"
#include "debias/encoders/encoder.h"
#include "debias/runtime/device.h"
#include "debias/runtime/unit_rows.h"  // IWYU pragma: export

namespace debias {

// Rows divided by their norms, one label each.

// As in unit_rows.h; a data error if rows and labels differ in number.
at::Tensor unit_rows(const at::Tensor& rows, const std::vector<int64_t>& labels, const std::string& who);

// An encoder that was lent for evaluation is handed back as it was.
//
// Constructed before a protocol switches the encoder's mode; destroyed, also by an exception, it puts back each submodule's mode and every
// buffer (BatchNorm's running averages, which change in train mode). Parameters are not saved: no protocol steps them.

class EncoderGuard {
 public:
  explicit EncoderGuard(Encoder& encoder);
  ~EncoderGuard();
  EncoderGuard(const EncoderGuard&) = delete;
  EncoderGuard& operator=(const EncoderGuard&) = delete;

 private:
  std::vector<std::pair<std::shared_ptr<torch::nn::Module>, bool>> modes_;
  std::vector<std::pair<at::Tensor, at::Tensor>> buffers_;  // the buffer, its copy
  Encoder& encoder_;
  bool training_;
};

struct Features {
  at::Tensor values;             // float32 [N, D], the encoder's pooled output, not normalised, on the CPU
  std::vector<int64_t> labels;   // [N]
  std::vector<int64_t> biases;   // [N]
  std::vector<int64_t> indices;  // [N] into the data set (its own order)
  int64_t unreadable = 0;        // images of the data set that have no row (ExtractOptions::on_error)
};

struct ExtractOptions {
  int64_t batch_size = 256;
  int64_t workers = 1;
  Precision precision = Precision::kFp32;
  OnError on_error = OnError::kStop;  // kSubstitute: an image that cannot be read is left out
};

// Encoders of the same weights, in evaluation mode, on devices beside the first one's: batches go round.
using EncoderCopies = std::vector<std::shared_ptr<Encoder>>;
// `open` makes an encoder like the first, once for each of the devices beside the first one's (devices_beside); it gets the first one's
// parameters and buffers. A device on which that fails, because it has no room or is taken, is left out.
EncoderCopies copies_beside(const Encoder& first, const std::function<std::shared_ptr<Encoder>()>& open);

// Eval mode for the call; the modes of the encoder and its submodules are restored. No gradient. Order of the data set, the same bytes for
// any number of workers. Data error on an empty data set and on an image that cannot be read (where such images are left out, on one for
// which none of 16 others can be read either); numeric error naming the first sample whose feature is not finite.
Features extract_features(Encoder& encoder, std::shared_ptr<const Dataset> dataset, const ViewPipeline& eval_views,
                          const ExtractOptions& options, Progress& progress, const EncoderCopies& copies = {});

// Dataset::source() of the images that have no row, in the order of the data set.
std::vector<std::string> unreadable_sources(const Features& features, const Dataset& dataset);

// float32 [B, D] on the CPU for images [B, C, H, W], on the encoder's device, in whatever mode the encoder is; no gradient.
at::Tensor pooled_features(Encoder& encoder, const at::Tensor& images, Precision precision = Precision::kFp32);

// A numeric error naming the first of the rows that is not finite: `who`, and the sample's place and source in `dataset`.
void require_finite(const at::Tensor& rows, const std::vector<int64_t>& indices, const Dataset& dataset, const std::string& who);

// A look at a data set before it is evaluated for the first time.

// Passes up to 32 of the images, spread evenly over the set, through the views, and two of them through the encoder: what would fail at
// the first batches of extract_features fails here, and is cheap.
void try_images(Encoder& encoder, std::shared_ptr<const Dataset> dataset, const ViewPipeline& eval_views, const ExtractOptions& options);

}  // namespace debias
