// Embeds a folder of images into a feature table by an encoder that is not a run's, as `debias embed DIR --encoder F` does.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "debias/core/progress.h"
#include "debias/evaluate/embedding_file.h"
#include "debias/runtime/device.h"

namespace debias {

struct FolderEmbeddingRequest {
  std::string folder, encoder, out;     // out: F or F.npy
  std::string reader = "image_folder";  // the data set that reads the folder
  std::vector<std::string> words = {};  // key=value options of the data set; `split=` chooses one split, else all splits are embedded
  std::vector<std::string> views = {};  // `views.eval=...`: changes what the encoder sees of an image
  std::string device = "auto";
  Precision precision = Precision::kFp32;  // of the encoder; bf16 is faster on a CPU with instructions for it
  CsvCells cells = CsvCells::kGuarded;
  OnError on_error = OnError::kStop;  // kSubstitute: an image that cannot be read has no row
};

struct FolderEmbedding {
  std::vector<std::string> files;  // vectors and rows
  int64_t rows = 0, dimensions = 0;
  std::string encoder;                                  // its name
  std::vector<std::pair<std::string, int64_t>> splits;  // name and number of images
  std::vector<std::string> skipped;                     // unreadable images, which have no row
  bool reused = false;                                  // the files existed, from the same images, weights and views; nothing was computed
};

// Writes F.npy (float32 [N, D], not normalised), F.csv (path, label, bias if there is one, split: train, valid, test, and group if there is one) and
// F.embedding.json, which records the source. Usage errors: another extension, an output inside the folder or over an input. Errors of
// frozen_encoder().
FolderEmbedding embed_folder(const FolderEmbeddingRequest& request, Progress& progress, Log& log);

// {"count", "dimensions", "encoder", "splits": {name: count}, "files", "skipped", "reused"}, and as lines for a person.
nlohmann::ordered_json to_json(const FolderEmbedding& embedding);
std::string embedding_text(const FolderEmbedding& embedding);

}  // namespace debias
