// Features as files that other tools read.
//
// One CSV: header `filenames,embedding_0,...,embedding_{D-1},labels`, one line per sample in the data set's order (the layout of lightly's
// save_embeddings). Or an array [N, D] float32 in NumPy's format with a sidecar CSV `filenames,labels` of the same order. Filenames are
// Dataset::source(), quoted as by quoted_field (csv_text.h); labels are class numbers, -1 where unknown;
// numbers are the shortest that read back as the same float32. Lines end with LF. Text that a spreadsheet would run has a ' before it
// (CsvCells).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "debias/data/dataset.h"
#include "debias/evaluate/features.h"
#include "debias/evaluate/protocol.h"

namespace debias {

// kGuarded: ' before text that begins with = + - @, a tab or a carriage return and is not a number, which spreadsheets take for a formula.
enum class CsvCells { kGuarded, kRaw };

// Writes the files of `out`: F.csv is one CSV; F.npy, or F without either extension, is F.npy and F.csv. Each is replaced atomically, by
// itself. Returns the paths written.
std::vector<std::string> write_embeddings(const std::string& out, const Features& features, const Dataset& dataset,
                                          CsvCells cells = CsvCells::kGuarded);
// The paths that write_embeddings would write.
std::vector<std::string> embedding_paths(const std::string& out);

// `field` as a CSV file has it (quoted_field).
std::string csv_field(const std::string& field, CsvCells cells);

// The name of the group of image `index`, for a column `group`; empty where nothing says it.
std::string group_field(const Dataset& dataset, int64_t index, CsvCells cells);

// The names behind the numbers of embedded samples.

// F.names.csv for F, F.npy and F.csv (embedding_file.h).
std::string name_path(const std::string& out);

// A CSV `filenames,labels,class,bias,bias_name`, and `group` where the set says groups, a line for each row of the features in their order; unknown numbers are -1, their names
// empty. Atomically. Returns its path, or nothing where the data set has no names, and then nothing is written.
std::optional<std::string> write_names(const std::string& out, const Features& features, const Dataset& dataset,
                                       CsvCells cells = CsvCells::kGuarded);

// A protocol's predictions as a table that other tools read.

// CSV, header `split,filenames,labels,biases,predictions`, one line for each image of each evaluated split in its own order; -1 is unknown.
// Filenames as in embedding_file.h. Replaced atomically. Nothing is written, and false returned, when the result has no predictions.
bool write_predictions(const std::string& path, const EvaluationResult& result, const EvaluationInput& input,
                       CsvCells cells = CsvCells::kGuarded);

}  // namespace debias
