// Weighted k-nearest-neighbour classification of features: how well a representation clusters.
//
//   score_c(x) = sum over the k gallery rows of highest cosine with x that are of class c of exp(cos / t)
//
// Rows are L2-normalised here (a zero row stays zero). k = 200 and t = the training temperature are the evaluation of SimCLR code bases
// (Wu et al. 2018, "Unsupervised feature learning via non-parametric instance discrimination", section 3.4; Chuang et al. 2020, main.py).
// Equal cosines: the lower gallery row is nearer; equal scores: the lower class wins. A class without a neighbour scores 0.
//
// The scores are computed up to a factor per query, exp(-nearest cos / t), so that no temperature overflows. Memory: nearest_rows.h; no
// table of queries x gallery is ever held.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "debias/core/options.h"
#include "debias/evaluate/neighbours/nearest_rows.h"
#include "debias/evaluate/protocol.h"

namespace debias {

struct KnnOptions {
  Auto<int64_t> k = {};
  Auto<double> temperature = {};
  int64_t examples = 24;
  void describe(OptionVisitor& o) {
    o("k", k, Range::at_least(1), "number of neighbours that vote; auto: 200, or all of a smaller gallery");
    o("temperature", temperature, Range::closed(1e-3, 100), "temperature that divides the cosine of a vote; auto: that of training");
    o("examples", examples, Range::closed(0, 10000), "number of images of each split to show with their nearest neighbours; 0: none");
  }
};

struct KnnGallery {
  at::Tensor values;                 // float32 [N, D]
  std::vector<int64_t> labels;       // [N]; rows of label kUnknown do not vote
  int64_t classes = 0;               // every label is below
  std::vector<int64_t> groups = {};  // [N], kUnknown: of none; empty: of none. Rows of the query's group do not vote
};

// kGallery: the queries are the gallery, and each is left out of its own neighbours.
enum class KnnQueries { kOthers, kGallery };

struct KnnResult {
  std::vector<int64_t> predictions;  // [Q] the class of the highest score
  std::vector<int64_t> ranks;        // [Q] of the true label (accuracy.h)
};

// k of the options: `k`, or min(200, gallery_size). A usage error naming the gallery's size when k is above it.
int64_t resolve_k(const KnnOptions& options, int64_t gallery_size);

// The largest number of the gallery's voters that belong to a query's group; `groups` are the queries', as the gallery's.
int64_t most_mates(const KnnGallery& gallery, const std::vector<int64_t>& groups);

// queries float32 [Q, D]; labels [Q], kUnknown or below gallery.classes; 1 <= k <= labelled rows of the gallery, less most_mates() and, at least, less one where the queries are the gallery. Data errors:
// lists and rows of different lengths, widths that differ, k above the labelled rows. Numeric error on a row that is not finite.
KnnResult knn(const KnnGallery& gallery, const at::Tensor& queries, const std::vector<int64_t>& labels, int64_t k, double temperature,
              const KnnBlock& block = {}, KnnQueries whose = KnnQueries::kOthers, const std::vector<int64_t>& groups = {});

// The rows of the gallery that have a label and are nearest to each query, at most k, nearest first, compared exactly. Neighbour::row
// counts all rows of the gallery. Errors as of knn().
std::vector<std::vector<Neighbour>> nearest_voters(const KnnGallery& gallery, const at::Tensor& queries, int64_t k,
                                                   const std::vector<int64_t>& groups = {});

// The protocol `knn`: weighted kNN accuracy (knn.h) of each evaluated split, and some images with their nearest training images to look at.

// Places of `count` labelled images to show. The first half is the same for every network, so that runs can be compared image by image; the
// others are this network's mistakes, drawn by the seed, and where these are too few, more that it classifies correctly. Each half
// ascending.
std::vector<int64_t> example_images(const std::vector<int64_t>& predictions, const std::vector<int64_t>& labels, int64_t count,
                                    uint64_t seed);

std::vector<Metric> knn_metrics();

// Metrics knn_acc1, knn_acc5 and, where bias labels are known and the run has no classifier, aligned_acc and conflicting_acc of each
// evaluated split, by the alignment of `groups` (EvaluationCache::alignment). If the run has a classifier, these names are the
// classifier's, and kNN's are in the record's side_metrics alone.
//
// The record has the aligned values, the predictions by class, and neighbours: 8 training images each, nearest first; ids are
// Dataset::id(). `images` of the result holds all of them, as SPLIT_ID and train_ID.
EvaluationResult run_knn(const EvaluationInput& input, EvaluationCache& cache, const KnnOptions& options, Progress& progress);

}  // namespace debias
