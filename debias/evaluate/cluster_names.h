// Names of image clusters as bias labels.
//
// A cluster is called like_CLASS after the class that most of its images have (of equal ones the lowest), a second one of the same class
// like_CLASS_2, and so on, the larger cluster first. A cluster without a labelled image is called value_N, N counting from 1, likewise.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace debias {

// `of_row`: the cluster of each image, below `clusters`; `labels`: its class, kUnknown (sample_table.h) where unknown. One name for each
// cluster, all different.
std::vector<std::string> cluster_names(const std::vector<int64_t>& of_row, const std::vector<int64_t>& labels,
                                       const std::vector<std::string>& class_names, int64_t clusters);

}  // namespace debias
