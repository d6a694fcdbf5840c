// The protocol `knn`: weighted kNN accuracy (knn.h) of each evaluated split, and some images with their nearest training images to look at.
#pragma once

#include <cstdint>
#include <vector>

#include "debias/evaluate/protocol.h"
#include "debias/evaluate/protocols/knn.h"

namespace debias {

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
