// Surveys a folder of images, and chooses which to train on and which to evaluate: every file is read once.
//
// Evaluated is the folder `test`, else `valid`, where it has the labels (and bias labels) that the training images have. Otherwise images
// are held out of the training set: a fifth, and up to 40 % if few of them are bias-conflicting, so that about 30 of those are evaluated.
// The held-out part has no damaged file, as long as a seed below 100 can be found for that.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/progress.h"
#include "debias/data/data_check.h"
#include "debias/data/folder_layout.h"

namespace debias {

struct FolderSurvey {
  FolderLayout layout;
  Config train, evaluated;                   // the `data.train` and `data.test` of a recipe
  DataCheck train_check;                     // covers every training image, also the held-out ones
  std::optional<DataCheck> evaluated_check;  // covers a folder of its own, with the names of training; empty if images are held out
  int64_t hold_out = 0;                      // the option of the training set
  int64_t held_out = 0;                      // images: so many, or near it where groups stay on one side
  int64_t groups = 0;                        // of the training images; 0: nothing says which belong together
  bool has_unknown_biases = false;           // the evaluated folder has bias labels that training does not have
  std::vector<BadFile> evaluated_bad;        // damaged files among those that would be evaluated
  std::vector<std::string> remarks;          // one line each: what was ignored or read as unknown, and why images are held out

  bool has_labels() const { return train_check.class_names.size() > 1; }
  bool has_biases() const { return has_labels() && train_check.bias_names.size() > 1; }
};

// `labels`: the value of image_folder's option of that name (label_file.h), or null; `pixels`: those of pixel_options(). Data errors of find_layout and image_folder; a data error
// where fewer than two images are left to train on and evaluate, where all labelled training images are of one class, or where an evaluated folder has a class that training does not have. Images there with another bias label
// are a group of unknown bias.
FolderSurvey survey_folder(const std::string& root, const Config& labels, Progress& progress, const Config& pixels = Config::map());

// Why a correction by the bias labels of the training images would rest on too little, a clause: they are known of a minority of the
// images, or a group of class and bias label has too few on average. Empty if there is no such reason, or if there are no bias labels.
std::string bias_doubt(const FolderSurvey& survey);

}  // namespace debias
