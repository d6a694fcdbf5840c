// Embeds a folder of images into a feature table by an encoder that is not a run's, as `debias embed DIR --encoder F` does.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "debias/augment/view_pipeline.h"
#include "debias/core/config.h"
#include "debias/core/progress.h"
#include "debias/data/sample_table.h"
#include "debias/encoders/encoder.h"
#include "debias/evaluate/embedding_file.h"
#include "debias/runtime/device.h"

namespace debias {

// A pretrained encoder without a run, as `--encoder` and `--from` name it.
//
//   F.safetensors                                        the keys of the file identify the encoder
//   RECIPE.yaml                                          its `encoder` section, and the views of evaluation
//   '{name: vit_small, weights: F.safetensors, ...}'     a section of a recipe
struct FrozenEncoder {
  Config section;                              // as written, with `weights`, or `file`
  ChosenEncoder encoder;                       // of that section
  Config views;                                // of a recipe, including `eval`; null: those of the published weights
  std::vector<std::string> files = {};         // that were read
  std::vector<std::string> view_changes = {};  // `views.KEY=value`, after `views`
};

// `option` is named in messages. Usage errors: a section of an unknown encoder or without weights, or a folder. Data errors: a file that is
// missing, not a safetensors file, or has the keys of no known encoder.
FrozenEncoder frozen_encoder(const std::string& text, const std::string& option);

// The encoder in evaluation mode, for images with that number of channels.
std::shared_ptr<Encoder> opened_encoder(const FrozenEncoder& frozen, int64_t channels);

// The side of the square images that the published weights of such an encoder were trained on. Usage error if it is unknown.
int64_t pretrained_side(const ChosenEncoder& encoder);

// Preprocessing of an image for the encoder: the recipe's views of evaluation; without a recipe, a resize of the short side to 8/7 of the
// weights' side, a centre crop, and the weights' normalisation. `view_changes` then apply. Usage error if the size is unknown or the
// encoder needs another one.
ViewPipeline frozen_views(const FrozenEncoder& frozen, const Encoder& encoder, const DatasetInfo& images);

struct FolderEmbeddingRequest {
  std::string folder, encoder, out;     // out: F or F.npy
  std::string reader = "image_folder";  // the data set that reads the folder
  std::vector<std::string> words = {};  // key=value options of the data set; `split=` chooses one split, else all splits are embedded
  std::vector<std::string> views = {};  // `views.eval=...`: changes what the encoder sees of an image
  std::string device = "auto";
  Precision precision = Precision::kFp32;  // of the encoder; bf16 is faster on a CPU with instructions for it
  CsvCells cells = CsvCells::kGuarded;
  OnError on_error = OnError::kStop;  // kSubstitute: an image that cannot be read has no row
  std::string groups = {};            // columns of the labels' CSV for the column group
};

struct FolderEmbedding {
  std::vector<std::string> files;  // vectors and rows
  int64_t rows = 0, dimensions = 0;
  std::string encoder;                                  // its name
  std::vector<std::pair<std::string, int64_t>> splits;  // name and number of images
  std::vector<std::string> skipped;                     // unreadable images, which have no row
  std::vector<std::string> notes;                       // one line each: what was left out or read otherwise
  bool reused = false;                                  // the files existed, from the same images, weights and views; nothing was computed
};

// Writes F.npy (float32 [N, D], not normalised), F.csv (path, label, bias if there is one, split: train, valid, test, and group if there is one) and
// F.embedding.json, which records the source. Usage errors: another extension, an output inside the folder or over an input. Errors of
// frozen_encoder().
FolderEmbedding embed_folder(const FolderEmbeddingRequest& request, Progress& progress, Log& log);

// {"count", "dimensions", "encoder", "splits": {name: count}, "files", "skipped", "reused", "notes"}, and as lines for a person.
nlohmann::ordered_json to_json(const FolderEmbedding& embedding);
std::string embedding_text(const FolderEmbedding& embedding);

}  // namespace debias
