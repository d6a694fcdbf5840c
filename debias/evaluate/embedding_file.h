// Features as files that other tools read.
//
// One CSV: header `filenames,embedding_0,...,embedding_{D-1},labels`, one line per sample in the data set's order (the layout of lightly's
// save_embeddings). Or an array [N, D] float32 in NumPy's format with a sidecar CSV `filenames,labels` of the same order. Filenames are
// Dataset::source(), quoted as by quoted_field (csv_text.h); labels are class numbers, -1 where unknown;
// numbers are the shortest that read back as the same float32. Lines end with LF. Text that a spreadsheet would run has a ' before it
// (CsvCells).
#pragma once

#include <string>
#include <vector>

#include "debias/data/dataset.h"
#include "debias/evaluate/features.h"

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

}  // namespace debias
