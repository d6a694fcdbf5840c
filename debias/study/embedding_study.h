// The estimators on embeddings whose labels are known: how far is each from the mean over true negatives that the labels give?
//
// Rows are normalised and s = z_a . z_b / t. An anchor's target is the exact mean of e^s over all rows of other classes (for the estimators
// of its own class, over the other rows of its class). For each of `anchors` rows and each repetition, N of the other rows are drawn
// without replacement as its unlabelled samples, and K of its own class as its positives (with replacement). One of tau_plus, alpha, beta
// and N varies at a time, from a base at which tau_plus is the chance that two rows share a class and alpha the chance that a row of the
// anchor's class is nearer than one of another, both as the labels have them.
//
// The same seed gives the same figures for any number of threads. Errors: data errors for one class, classes of one row only, labels that
// do not match; usage errors for options out of range and for more negatives than there are other rows.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "debias/study/estimator_errors.h"

namespace debias {

struct LabelledEmbeddings {
  int64_t rows = 0, dimensions = 0;
  std::vector<float> values;    // [rows, dimensions], of any norm but 0
  std::vector<int64_t> labels;  // [rows]; rows of label -1 are unknown and left out
};

struct EmbeddingStudyOptions {
  double temperature = 0.5;        // [0.05, 100]
  std::optional<double> tau_plus;  // [0, 1); absent: by the labels
  std::optional<double> alpha;     // [0.5, 1]; absent: by the labels
  double beta = 1;                 // >= 0, of hard; the bayesian forms have 0 at the base
  int64_t negatives = 256;         // N >= 1, at most rows - 1; absent values of the sweep beyond that are left out
  int64_t positives = 1;           // K >= 1
  int64_t anchors = 500;           // >= 1, at most one for each row
};

struct EmbeddingSetting {
  std::string parameter;  // base, tau_plus, alpha, beta, negatives
  double value = 0;
  int64_t negatives = 0;
  EstimatorOptions options;
};

struct EmbeddingFigures {
  EmbeddingSetting setting;
  std::array<EstimatorFigures, kEstimators> of;
};

struct EmbeddingStudy {
  int64_t rows = 0, classes = 0, anchors = 0;
  double tau_plus = 0, alpha = 0;  // by the labels
  std::vector<EmbeddingFigures> settings;
  std::string recommendation;  // one sentence
};

EmbeddingStudy study_embeddings(const LabelledEmbeddings& embeddings, const EmbeddingStudyOptions& options, const StudyRun& run);

// The estimator and setting of least mean squared error among those that need no labels, unless plain InfoNCE is within a tenth of it.
std::string recommendation(const std::vector<EmbeddingFigures>& settings);

// Embeddings and labels of a study, from .npy files.

// `embeddings`: float32 or float64 [N, D]; `labels`: integers [N]. Data errors name the file: another shape or dtype, counts that differ.
LabelledEmbeddings read_labelled_embeddings(const std::string& embeddings, const std::string& labels);

}  // namespace debias
