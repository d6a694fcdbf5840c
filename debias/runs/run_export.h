// Writes a run's encoder for other programs, as `debias export` does.
//
//   const ExportedFiles files = export_run({.run = "runs/first"}, Log::silent());  // runs/first/exported/encoder.onnx, ...
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/core/progress.h"

namespace debias {

enum class ExportFormat { kAll, kSafetensors, kOnnx };  // kAll: all that the encoder supports

struct ExportRequest {
  std::string run;             // a run folder, a folder of debias fix, or a checkpoint
  std::string out = "";        // a new folder or one of an earlier export; empty: RUN/exported
  std::string which = "last";  // checkpoint of a run folder: last, best or previous
  ExportFormat format = ExportFormat::kAll;
};

struct ExportedFiles {
  std::string folder;
  std::vector<std::string> paths;
  std::string checkpoint;  // that was exported; this and the following are empty for a folder of debias fix
  int64_t epoch = 0;
  int64_t features = 0;  // dimension of the encoder's output
};

// Writes encoder.safetensors (torchvision's keys), encoder.onnx (for single ResNets) and preprocess.json; for a folder of
// debias fix, its layer, head and classes. The folder is replaced as a whole. Usage errors: ONNX for another encoder; a folder that
// contains other files, or files of an earlier export that this one would not write; a folder inside the run's data.
ExportedFiles export_run(const ExportRequest& request, Log& log);

}  // namespace debias
