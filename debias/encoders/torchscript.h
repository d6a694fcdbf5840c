// A network of any architecture from a TorchScript file (torch.jit.trace or torch.jit.script), trainable.
//
//   encoder: {name: torchscript, file: dino.pt, sha256: 4f1c…, size: 224}
//
// The file contains a program, which is run: it is opened only if its SHA-256 is the given one, so that it is the file that the user
// checked or trusts. Its forward takes images [N, channels, size, size], normalised by `mean` and `std`, and gives features [N, D] for
// any N; that is tried once with zeros. Parameters and buffers have the file's names and are trained and stored as others. Whatever was
// constant when the graph was traced stays so: of a network that was traced in evaluation mode, batch normalisation keeps to its running
// statistics and nothing is dropped out. It has no stages: `freeze` is none or all.
//
// Errors: a usage error without `file` or `sha256`; data errors for a digest that differs (nothing is loaded then), for what is no
// TorchScript file, a damaged one, a graph with other inputs or outputs, weights that are not float32.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "debias/core/options.h"
#include "debias/encoders/backbone_options.h"
#include "debias/encoders/encoder.h"

namespace debias {

struct TorchScriptOptions {
  std::string file = "";
  std::string sha256 = "";
  int64_t size = 224;
  int64_t channels = 3;
  Freeze freeze = {};
  int64_t freeze_epochs = 0;
  double learning_rate = 1;
  std::optional<std::vector<double>> mean = std::nullopt;
  std::optional<std::vector<double>> std = std::nullopt;
  void describe(OptionVisitor& o);
};

std::shared_ptr<Encoder> make_torchscript(const TorchScriptOptions& options, int64_t in_channels);

}  // namespace debias
