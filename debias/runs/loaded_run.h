// A run folder or a lone checkpoint, opened for evaluation or embedding.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "debias/core/config.h"
#include "debias/data/name_table.h"
#include "debias/data/sample_kind.h"
#include "debias/encoders/encoder.h"
#include "debias/train/methods/model.h"
#include "debias/train/state/training_state.h"

namespace debias {

struct LoadedRun {
  std::string folder;      // the run folder; empty for a lone checkpoint
  std::string checkpoint;  // path of the file with the weights
  Config recipe;           // the resolved recipe: data, views, encoder, head, objective, ...
  std::shared_ptr<Encoder> encoder;
  std::shared_ptr<Head> head;
  bool has_head = true;                    // false: its output is the encoder's
  std::shared_ptr<Classifier> classifier;  // null if the run has none
  std::optional<NameTable> names;          // of its training set; absent in older checkpoints
  DataRecord data;                         // fingerprints of its data sets; empty in older checkpoints
  int64_t channels = 3;                    // of its images; 0 for sentences
  int64_t words = 0;                       // size of its vocabulary, for sentences
  uint64_t seed = 1;
  int64_t epoch = 0;  // number of finished epochs

  SampleKind samples() const { return words > 0 ? SampleKind::kSentences : SampleKind::kImages; }  // that it reads
};

// `path` is a run folder, of which the checkpoint `which` is loaded (last, best or previous), or a .safetensors file. The recipe is
// config.yaml of the run folder that contains the file, or the one in the file's metadata. Data errors name the path.
LoadedRun load_run(const std::string& path, const std::string& which = "last");

// Usage error for a run on sentences.
void require_image_run(const LoadedRun& run);

// Files of the run, the checkpoint first, without evaluations and exports.
std::vector<std::string> run_files(const LoadedRun& run);

}  // namespace debias
