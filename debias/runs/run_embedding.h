// Embeds a data set by a run's encoder, as `debias embed` does.
//
//   const RunEmbedding made = embed_run({.run = "runs/first", .out = "z.npy"}, Progress::silent(), Log::silent());
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "debias/augment/view_pipeline.h"
#include "debias/core/enum_names.h"
#include "debias/core/progress.h"
#include "debias/evaluate/embedding_file.h"
#include "debias/evaluate/features.h"
#include "debias/features/feature_table.h"
#include "debias/runs/evaluated_data.h"
#include "debias/train/recipe/recipe.h"

namespace debias {

// The layers of a run's network that can be embedded.
enum class Layer { kEncoder, kProjection };
constexpr auto enum_words(Layer) { return named("encoder", "projection"); }

// Parses the name of a layer. Usage error with the nearest name.
Layer layer_named(const std::string& word);

// Maps images to the output of that layer: the encoder's pooled output or the head's output, not normalised. Usage error for the projection
// of a run without a head: use the encoder's output.
std::shared_ptr<Encoder> embedded_layer(const LoadedRun& run, Layer layer);

// The views of evaluation, with the recipe's normalisation, or else that of the images that `normalised_as` describes.
ViewPipeline embedding_views(const Recipe& recipe, const DatasetInfo& normalised_as);

// Features of a bias model, as the training of another network uses them (`bias_features: FILE.npy`).

// The training set of the run, or of the data set that `data` names, with the overrides of `data` applied. Usage error if neither is known.
ChosenData training_data(const LoadedRun& run, const DataWords& data);

// F.npy for F and F.npy; usage error for another extension.
std::string bias_feature_path(const std::string& out);

struct BiasFeatureFile {
  std::string path;
  int64_t rows = 0, dimensions = 0;
  int64_t empty_rows = 0;  // ids that are not in the data set, such as held-out ones; their rows are zero
};

// Writes float32 [largest id + 1, F] atomically; the row is the sample id.
BiasFeatureFile write_bias_features(const std::string& path, const Features& features, const Dataset& dataset);

struct EmbeddingRequest {
  std::string run;              // a run folder or a checkpoint
  std::string out;              // F, F.npy or F.csv (embedding_file.h)
  std::string which = "last";   // checkpoint of a run folder: last, best or previous
  std::string device = "auto";  // auto, cpu or cuda
  Layer layer = Layer::kEncoder;
  // The data set to embed; without a name, the run's own. Overrides that begin with views., data. or evaluate. change the recipe; the
  // others are options of the data set.
  DataWords data = {};
  CsvCells cells = CsvCells::kGuarded;
  DataChange data_change = DataChange::kRefuse;
  OnError on_error = OnError::kStop;  // kSubstitute: an image that cannot be read has no row
  std::string groups = {};            // columns of the labels' CSV for the column group
};

struct RunEmbedding {
  int64_t rows = 0, dimensions = 0;
  std::vector<std::string> files;    // files that were written
  std::optional<std::string> names;  // file of class names, if the data set has any
  std::vector<std::string> skipped;  // unreadable images, which have no row
  std::vector<std::string> notes;    // one line each: what was left out or read otherwise
};

// Warns of unreadable images, which have no row; nothing for none.
void warn_of_skipped(const std::vector<std::string>& images, Log& log);

// "3 of 40 images cannot be read and have no row: is empty (first cat/1.png)"; empty where none was skipped.
std::string note_on_skipped(const std::vector<std::string>& images, const Dataset& dataset);

// Embeds the run's test set, or the data set that the request names. Usage errors, before anything is read: an output that is an input or
// is inside a data folder, a run on sentences. Data error: data that have changed since training, unless accepted.
RunEmbedding embed_run(const EmbeddingRequest& request, Progress& progress, Log& log);

// Embeds the training set with row = sample id, for `bias_features` of an objective (write_bias_features()). Errors as above.
BiasFeatureFile embed_bias_features(const EmbeddingRequest& request, Progress& progress, Log& log);

// A run's data sets as a feature table on disk.
struct RunToEmbed {
  std::string path, root, which = "last", device = "auto";
  std::string groups = {};  // columns of the labels' CSV that say what belongs together
};

// Writes features.npy and features.csv (path, label, bias, split) of the run's train, valid and test sets into `folder`; returns them.
// Errors as for `debias eval RUN`.
FeatureTableFiles embed_table(const RunToEmbed& run, const std::string& folder, Progress& progress, Log& log);

}  // namespace debias
