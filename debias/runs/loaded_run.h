// A run folder or a lone checkpoint, opened for evaluation or embedding.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "debias/core/config.h"
#include "debias/data/name_table.h"
#include "debias/encoders/encoder.h"
#include "debias/train/methods/classifier.h"
#include "debias/train/state/data_record.h"

namespace debias {

struct LoadedRun {
  std::string folder;      // the run folder; empty for a lone checkpoint
  std::string checkpoint;  // path of the file the weights came from
  Config recipe;           // the resolved recipe: data, views, encoder, head, objective, ...
  std::shared_ptr<Encoder> encoder;
  std::shared_ptr<Head> head;
  std::shared_ptr<Classifier> classifier;  // null where the run has none
  std::optional<NameTable> names;          // of its training set; older checkpoints do not say
  DataRecord data;                         // what its data sets were; likewise empty
  int64_t channels = 3;                    // of its images; 0: it reads sentences
  int64_t words = 0;                       // of its vocabulary, where it reads sentences
  uint64_t seed = 1;
  int64_t epoch = 0;  // finished epochs
};

// `path`: a run folder (its checkpoints/last, or best when `which` says so), or a .safetensors file (inside a run folder's checkpoints/ it
// finds that run's config.yaml; elsewhere the recipe in its metadata). Data errors name the path.
LoadedRun load_run(const std::string& path, const std::string& which = "last");

// A usage error for a run on sentences.
void require_image_run(const LoadedRun& run);

// Files of the run, the checkpoint first; without its evaluations and exports, which are made from it.
std::vector<std::string> run_files(const LoadedRun& run);

}  // namespace debias
