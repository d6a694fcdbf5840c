// Labels and biases of a CSV laid upon the images of a folder.
#pragma once

#include <string>
#include <vector>

#include "debias/data/dataset.h"
#include "debias/data/readers/image_files.h"
#include "debias/data/readers/label_file.h"
#include "debias/data/readers/row_names.h"

namespace debias {

// Folders in which a path of the CSV is searched: the root, the CSV's folder, and the folders of all splits; or it is absolute. A path of
// images in two splits is an error that names both, unless the column `split` or the name of the CSV ("train.csv") says which split is
// meant. A name that is not UTF-8 is written as by in_utf8 (printable.h). Paths that name no file are joined as row_names.h says.
struct LabelPlaces {
  std::string root;
  std::string prefix;  // "train/", or "" where the split is the root itself
  std::string csv;
  std::vector<std::string> beside = {};  // below the root: images beside the class folders, which are not read
};

// Sets label and bias of every file, and class_names and bias_names of `info`: of a column of names, those that these images have, numbered
// in byte-wise order; of integers, 0 to the largest of these images. Adds to info.remarks what each column was read as, with the number of
// unknowns, which columns are not read, and which of those may hold a bias (likely_bias.h); info.columns has the same by titles. A column
// that the CSV does not have changes nothing. Images that have no row and cannot be read are left out of `files`, with a remark. FileError
// naming the CSV: an image without a row that can be read (with what was looked for and what the CSV has), an image with two rows, a row for an image beside the class folders, a row for which there is no file (it may
// be one of another split).
void join_labels(const LabelPlaces& places, const LabelFile& labels, std::vector<ImageFile>& files, DatasetInfo& info);

// "3 of 40 labels contradict ..." where labels name class folders, and not always that of the image, or else where all but a few of the
// labels of each folder are of one class. Empty otherwise. One element of each for an image; an empty label is unknown.
std::string note_on_folders(const std::string& title, const std::vector<std::string>& folders, const std::vector<std::string>& labels,
                            const std::vector<std::string>& images);

struct MatchedRows {
  std::vector<int64_t> of_image;   // the row of each image, or kUnknown
  std::vector<int64_t> strays;     // rows of no image of any split
  std::vector<std::string> notes;  // of row_names.h
};

// For each of these images, paths below the root, its row. FileError where two rows name one image.
MatchedRows rows_of_images(const LabelPlaces& places, const std::vector<RowName>& rows, const std::vector<std::string>& images);

// Those of `strays` for which there is no file: others may be of another split.
std::vector<int64_t> rows_without_file(const LabelPlaces& places, const std::vector<RowName>& rows, const std::vector<int64_t>& strays);

}  // namespace debias
